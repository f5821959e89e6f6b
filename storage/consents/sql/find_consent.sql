-- The consent request of a link or of a state, whichever digest is given, as it stands now.
select c.id as request_id, c.org_id, o.name as org, c.email, c.owner, c.deletes, c.actor_type, c.actor_id, c.state,
       c.browser_digest, c.sealed_verifier, c.refusal, c.detail,
       c.state = 'asked' and c.link_expires_at <= now() as link_is_old, c.state = 'sent' and c.answer_by <= now() as answer_is_late,
       c.state = 'exchanging' and c.answered_at <= now() - %(exchange_within)s as is_broken_off
from consent_requests c
join orgs o on o.id = c.org_id
where c.link_digest = %(link_digest)s::bytea or c.state_digest = %(state_digest)s::bytea
