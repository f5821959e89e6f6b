-- Forgets requests whose time is over.
delete from api_requests where (org_id, key) in (
  select org_id, key from api_requests where expires_at < now() order by expires_at limit %(batch)s
)
returning key
