-- The API key of a prefix, whether it is still good by the database's clock, and whether its use is worth a note.
select id as key_id, org_id, role, digest, revoked_at is null and (expires_at is null or expires_at > now()) as good,
  coalesce(last_used_at < now() - %(note_every)s::interval, true) as note
from api_keys where prefix = %(prefix)s
