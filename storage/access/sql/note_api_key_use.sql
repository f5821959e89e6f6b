-- Notes that an API key is in use, unless another request has just done so.
update api_keys set last_used_at = now()
where id = (
  select id from api_keys
  where id = %(key_id)s and coalesce(last_used_at < now() - %(note_every)s::interval, true)
  for update skip locked
)
