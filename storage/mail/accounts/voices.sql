-- name: save_voice
-- How the owner of an account writes; a later description takes the place of an earlier one.
insert into voices (org_id, account_id, voice, sampled)
select a.org_id, a.id, %(voice)s, %(sampled)s from accounts a where a.id = %(account_id)s
on conflict (org_id, account_id) do update set voice = excluded.voice, sampled = excluded.sampled, learned_at = now()
returning account_id

-- name: find_voice
-- How the owner of an account writes, if that was learned.
select voice, sampled, learned_at from voices where account_id = %(account_id)s
