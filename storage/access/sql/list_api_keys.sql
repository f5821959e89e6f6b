-- API keys, of one org or of all, the newest first; never their digests.
select id as key_id, org_id, name, role, prefix, created_at, created_by, expires_at, revoked_at, revoked_by, last_used_at
from api_keys
where %(org_id)s::uuid is null or org_id = %(org_id)s::uuid
order by created_at desc, id desc
limit %(limit)s
