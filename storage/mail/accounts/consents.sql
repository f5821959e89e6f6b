-- name: ask_consent
-- A new link. Links that ended a week ago go, a few with each new one, so that the table stays small.
with old as (
  delete from consent_requests
  where id in (select id from consent_requests where link_expires_at < now() - interval '7 days' order by link_expires_at limit 20 for update skip locked)
)
insert into consent_requests (org_id, email, owner, deletes, actor_type, actor_id, link_digest, link_expires_at)
values (%(org_id)s, %(email)s, %(owner)s, %(deletes)s, %(actor_type)s, %(actor_id)s, %(link_digest)s, now() + %(lives)s)
returning id as request_id, link_expires_at

-- name: send_consent
-- Uses the link up: the browser goes to Google. No row when it was used or is too old.
update consent_requests set
  state = 'sent', state_digest = %(state_digest)s, browser_digest = %(browser_digest)s, sealed_verifier = %(sealed_verifier)s,
  answer_by = now() + %(answer_within)s
where id = %(request_id)s and state = 'asked' and link_expires_at > now()
returning id

-- name: take_consent
-- Takes the state for one exchange. No row when another request has taken it, or when it is too late.
update consent_requests set state = 'exchanging', sealed_verifier = null, answered_at = now()
where id = %(request_id)s and state = 'sent' and answer_by > now()
returning id

-- name: hold_consent
-- Holds a request whose code is being exchanged until the transaction ends. No row when it was ended meanwhile, or is broken off.
select id from consent_requests
where id = %(request_id)s and state = 'exchanging' and answered_at > now() - %(exchange_within)s::interval
for update

-- name: end_consent
-- What came of it; what has ended already stays as it is.
update consent_requests set
  state = case when %(account_id)s::uuid is null then 'refused' else 'connected' end, account_id = %(account_id)s, refusal = %(refusal)s,
  detail = %(detail)s, sealed_verifier = null, answered_at = coalesce(answered_at, now())
where id = %(request_id)s and state in ('sent', 'exchanging')
returning id

-- name: end_overdue_consents
-- Ends requests that can come to no good any more: links that nobody used, owners who did not come back in time, and exchanges whose
-- process died. One that is being written at this moment is passed over.
with overdue as (
  select id, case state when 'exchanging' then %(broken_off)s else %(too_late)s end as why from consent_requests
  where (state = 'asked' and link_expires_at <= now()) or (state = 'sent' and answer_by <= now())
    or (state = 'exchanging' and answered_at <= now() - %(exchange_within)s::interval)
  order by id limit %(batch)s for update skip locked
)
update consent_requests c set
  state = 'refused', refusal = o.why, sealed_verifier = null, answered_at = coalesce(c.answered_at, now())
from overdue o where c.id = o.id
returning c.id as request_id, c.org_id, c.actor_type, c.actor_id, c.refusal

-- name: find_consent
-- The consent request of a link or of a state, whichever digest is given, as it stands now.
select c.id as request_id, c.org_id, o.name as org, c.email, c.owner, c.deletes, c.actor_type, c.actor_id, c.state,
       c.browser_digest, c.sealed_verifier, c.refusal, c.detail,
       c.state = 'asked' and c.link_expires_at <= now() as link_is_old, c.state = 'sent' and c.answer_by <= now() as answer_is_late,
       c.state = 'exchanging' and c.answered_at <= now() - %(exchange_within)s::interval as is_broken_off
from consent_requests c
join orgs o on o.id = c.org_id
where c.link_digest = %(link_digest)s::bytea or c.state_digest = %(state_digest)s::bytea
