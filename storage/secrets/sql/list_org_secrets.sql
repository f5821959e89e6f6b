-- What secrets orgs have, without what they are.
select org_id, name, encode(key_id, 'hex') as key_id, created_at, updated_at
from org_secrets
where %(org_id)s::uuid is null or org_id = %(org_id)s
order by org_id, name
limit %(most)s
