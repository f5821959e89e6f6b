-- What the tenant role may read and write, column by column (docs/explanation/tenancy.md). A whole-table right to update or to delete
-- would also be the right to lock the table against all other orgs, so there is none.

-- Neither the token of a claim nor whose it is: whoever knows a token can write as its holder (promise P4).
revoke select on jobs from postroom_tenant;
grant select (
  id, org_id, project_id, job_type, queue, state, priority, payload, payload_version, idempotency_key, guarded, light, serial_key,
  actor_type, actor_id, request_id, correlation_id, traceparent, parent_id, replay_of, attempt, max_attempts, losses, suspect, deadline,
  created_at, run_at, expires_at, published_at, next_check_at, backlog_since, parked_by, claimed_at, started_at, finished_at,
  cancel_requested_at, cancel_reason, progress, output, error, cost_microcents
) on jobs to postroom_tenant;
revoke select on idempotency_keys from postroom_tenant;
grant select (
  org_id, key, kind, mode, status, job_id, first_seen_at, last_seen_at, expires_at, result_ref, error_ref
) on idempotency_keys to postroom_tenant;
revoke select on budget_reservations from postroom_tenant;
grant select (id, org_id, day, job_id, microcents, made_at, charged_at) on budget_reservations to postroom_tenant;

-- Keys, orgs and times of creation are written once.
revoke update on accounts, labels, threads, messages, correspondents, expected_writes, emails, rules, llm_rules, directions, actions
  from postroom_tenant;
grant update (
  email, status, status_reason, status_changed_at, sealed_access_token, sealed_refresh_token, access_expires_at, scopes, token_version,
  refresh_owner, refresh_until, history_id, full_synced_at, watch_expires_at, watch_renewed_at, own_addresses, settings
) on accounts to postroom_tenant;
grant update (name, kind, role, description, for_classifier, deleted_at, seen_at) on labels to postroom_tenant;
grant update (first_message_at, last_message_at) on threads to postroom_tenant;
grant update (
  direction, received_at, size, labels, sender, subject, body, document, rfc_message_id, defects, automation_kind, automation_weight,
  automation_evidence, deleted_at
) on messages to postroom_tenant;
grant update (heard_at, written_at) on correspondents to postroom_tenant;
grant update (history_id, expires_at) on expected_writes to postroom_tenant;
grant update (
  gmail_message_id, state, state_changed_at, classification, decision_source, confidence, needs_review, draft_token, draft_id,
  draft_message_id, draft_fingerprint, drafted_at, rework_count, sent_message_id, sent_at
) on emails to postroom_tenant;
grant update (name, priority, definition, enabled, disabled_reason, updated_at) on rules to postroom_tenant;
grant update (scope, scope_ref, name, content, label_ids, enabled, disabled_reason, updated_at) on llm_rules to postroom_tenant;
grant update (scope, scope_ref, content, enabled, updated_at) on directions to postroom_tenant;
grant update (
  state, undo_hint, error, job_id, started_at, finished_at
) on actions to postroom_tenant;

-- No statement deletes a rule or a direction: they are switched off.
revoke delete on rules, llm_rules, directions from postroom_tenant;
