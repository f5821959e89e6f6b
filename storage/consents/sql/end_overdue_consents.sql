-- Ends requests that can come to no good any more: links that nobody used, owners who did not come back in time, and exchanges whose
-- process died. One that is being written at this moment is passed over.
with overdue as (
  select id, case state when 'exchanging' then %(broken_off)s else %(too_late)s end as why from consent_requests
  where (state = 'asked' and link_expires_at <= now()) or (state = 'sent' and answer_by <= now())
    or (state = 'exchanging' and answered_at <= now() - %(exchange_within)s)
  order by id limit %(batch)s for update skip locked
)
update consent_requests c set
  state = 'refused', refusal = o.why, sealed_verifier = null, answered_at = coalesce(c.answered_at, now())
from overdue o where c.id = o.id
returning c.id as request_id, c.org_id, c.actor_type, c.actor_id, c.refusal
