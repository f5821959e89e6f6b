-- name: find_operator_session
-- Who has the session of that digest, if it is good by now.
select o.id as operator_id, o.email, o.role, o.org_ids, s.id as session_id,
       s.proved_at > now() - %(proven_for)s::interval as is_proven, s.seen_at < now() - %(note_every)s::interval as note
from operator_sessions s join operators o on o.id = s.operator_id
where s.digest = %(digest)s and s.seen_at > now() - %(idle)s::interval and s.ends_at > now() and o.deactivated_at is null

-- name: list_good_sessions
-- Which of these sessions are good by now.
select s.id as session_id from operator_sessions s join operators o on o.id = s.operator_id
where s.id = any (%(session_ids)s::uuid[])
  and s.seen_at > now() - %(idle)s::interval and s.ends_at > now() and o.deactivated_at is null

-- name: note_operator_session
-- The session was used.
update operator_sessions set seen_at = now() where id = %(session_id)s and seen_at < now() - %(note_every)s::interval

-- name: is_there_an_operator
-- Whether anybody can sign in, or could with a link.
select exists (select from operators where deactivated_at is null) as is_there

-- name: find_operator
-- An operator by address.
select id as operator_id, email, role, org_ids, password_hash, account, deactivated_at is null as is_active
from operators where email = %(email)s

-- name: find_operator_by_link
-- Whose one-time link it is, while it is good.
select id as operator_id, email, role, org_ids, password_hash, account, true as is_active
from operators where link_digest = %(digest)s and link_expires_at > now() and deactivated_at is null

-- name: use_operator_link
-- Uses the link up and keeps the password; every session of before ends. No row when it was used meanwhile, or is too old.
with used as (
  update operators set password_hash = %(password_hash)s, link_digest = null, link_expires_at = null
  where link_digest = %(digest)s and link_expires_at > now() and deactivated_at is null
  returning id
),
ended as (
  delete from operator_sessions where operator_id in (select id from used)
)
select id as operator_id from used

-- name: begin_operator_session
-- A new session of an operator who is still active, and whose password is still the one that was compared.
with signed_in as (
  update operators set signed_in_at = now()
  where id = %(operator_id)s and deactivated_at is null and password_hash = %(password_hash)s
  returning id
)
insert into operator_sessions (operator_id, digest, ends_at)
select id, %(digest)s, now() + %(lives)s::interval from signed_in
returning id as session_id

-- name: begin_operator_session_by_account
-- A new session of an operator who is still active under the address of an account at the provider. The first account is kept: no other is let
-- in. Where the provider does not say when it asked for a proof, that was long ago.
with signed_in as (
  update operators set signed_in_at = now(), account = %(account)s
  where id = %(operator_id)s and deactivated_at is null and email = %(email)s and coalesce(account, %(account)s) = %(account)s
  returning id
)
insert into operator_sessions (operator_id, digest, ends_at, proved_at)
select id, %(digest)s, now() + %(lives)s::interval, least(now(), coalesce(%(authenticated_at)s::timestamptz, now() - %(lives)s::interval))
from signed_in
returning id as session_id

-- name: prove_operator_session
-- The password was given once more: the session goes on under a new digest, until the same end.
update operator_sessions set digest = %(digest)s, proved_at = now(), seen_at = now()
where id = %(session_id)s and ends_at > now()
returning id as session_id

-- name: prove_operator_session_by_account
-- As above, where the provider has just asked whoever has the operator's account for a proof.
update operator_sessions s set digest = %(digest)s, proved_at = least(now(), %(authenticated_at)s::timestamptz), seen_at = now()
from operators o
where s.id = %(session_id)s and s.ends_at > now() and %(authenticated_at)s::timestamptz > now() - %(proven_for)s::interval
  and o.id = s.operator_id and o.deactivated_at is null and o.account = %(account)s
returning s.id as session_id

-- name: end_operator_session
-- Ends one session.
delete from operator_sessions where id = %(session_id)s returning id as session_id, operator_id

-- name: end_operator_sessions
-- Ends all sessions of an operator.
delete from operator_sessions where operator_id = %(operator_id)s returning id as session_id

-- name: add_operator
-- A new operator; nothing when the address is one's already.
insert into operators (email, role, org_ids, created_by, link_digest, link_expires_at)
values (%(email)s, %(role)s, %(org_ids)s, %(created_by)s, %(link_digest)s, now() + %(link_lives)s::interval)
on conflict do nothing
returning id as operator_id

-- name: get_operator
-- One operator, as operators see them.
select id as operator_id, email, role, org_ids, created_at, created_by, signed_in_at, deactivated_at,
       password_hash is not null or account is not null as can_sign_in, link_expires_at > now() as has_link
from operators where email = %(email)s

-- name: list_operators
-- The operators, by address.
select id as operator_id, email, role, org_ids, created_at, created_by, signed_in_at, deactivated_at,
       password_hash is not null or account is not null as can_sign_in, link_expires_at > now() as has_link
from operators
where %(after_email)s::text is null or email > %(after_email)s
order by email
limit %(limit)s

-- name: change_operator
-- Another role or scope, or both: every session ends. What is not given stays as it is by then. Nothing for one who is deactivated.
with changed as (
  update operators
  set role = coalesce(%(role)s, role), org_ids = case when not %(all_orgs)s then coalesce(%(org_ids)s::uuid[], org_ids) end
  where id = %(operator_id)s and deactivated_at is null
  returning id, role, org_ids
),
ended as (
  delete from operator_sessions where operator_id in (select id from changed)
)
select role, org_ids from changed

-- name: reset_operator_link
-- A new one-time link; an earlier one is good no more, and another account at the provider may be the operator's. Nothing for one who is
-- deactivated.
update operators set account = null, link_digest = %(link_digest)s, link_expires_at = now() + %(link_lives)s::interval
where id = %(operator_id)s and deactivated_at is null
returning id as operator_id

-- name: deactivate_operator
-- Lets an operator in no more: password, link and sessions go.
with gone as (
  update operators set deactivated_at = now(), password_hash = null, account = null, link_digest = null, link_expires_at = null
  where id = %(operator_id)s and deactivated_at is null
  returning id
),
ended as (
  delete from operator_sessions where operator_id in (select id from gone)
)
select id as operator_id from gone

-- name: remove_operator
-- Forgets an operator, with the sessions.
delete from operators where id = %(operator_id)s returning id as operator_id

-- name: list_operator_sessions
-- The sessions that are good by now, the newest first.
select s.id as session_id, o.email, s.began_at, s.seen_at, s.proved_at, s.ends_at
from operator_sessions s join operators o on o.id = s.operator_id
where s.seen_at > now() - %(idle)s::interval and s.ends_at > now()
  and (%(email)s::text is null or o.email = %(email)s)
  and (%(after_session_id)s::uuid is null or s.id < %(after_session_id)s)
order by s.id desc
limit %(limit)s
