-- A link that nobody used ends as refused, too, so that the audit log has its end. It never had a state.
alter table consent_requests
  drop constraint sent_has_state,
  add constraint sent_has_state check (
    (state_digest is null) = (browser_digest is null) and (state_digest is null) = (answer_by is null)
    and (state = 'refused' or (state = 'asked') = (state_digest is null)));
