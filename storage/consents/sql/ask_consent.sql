-- A new link. Links that ended a week ago go, a few with each new one, so that the table stays small.
with old as (
  delete from consent_requests
  where id in (select id from consent_requests where link_expires_at < now() - interval '7 days' order by link_expires_at limit 20)
)
insert into consent_requests (org_id, email, owner, deletes, actor_type, actor_id, link_digest, link_expires_at)
values (%(org_id)s, %(email)s, %(owner)s, %(deletes)s, %(actor_type)s, %(actor_id)s, %(link_digest)s, now() + %(lives)s)
returning id as request_id, link_expires_at
