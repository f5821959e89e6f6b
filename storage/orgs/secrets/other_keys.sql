-- name: count_seals_of_other_keys
-- How many mailboxes and secrets of orgs are sealed by none of these keys; bytes 2 to 9 of a record name its key.
select
  (select count(*) from accounts
   where substring(sealed_access_token from 2 for 8) <> all(%(key_ids)s::bytea[])
      or substring(sealed_refresh_token from 2 for 8) <> all(%(key_ids)s::bytea[])) as mailboxes,
  (select count(*) from org_secrets where key_id <> all(%(key_ids)s::bytea[])) as secrets
