-- name: ensure_org
-- The org of that name, made if there is none. The caller holds the name's advisory lock, since names are not unique.
with found as (
  select id from orgs where name = %(name)s order by created_at limit 1
),
made as (
  insert into orgs (name) select %(name)s where not exists (select from found) returning id
)
select id from found union all select id from made

-- name: ensure_account
-- The account of a mailbox in an org, made with its owner if new; it has no tokens and is disconnected until it gets some.
with owner_row as (
  insert into users (org_id, email, role) values (%(org_id)s, %(owner)s, 'owner')
  on conflict (org_id, email) do update set email = excluded.email
  returning id, org_id
),
made as (
  insert into accounts (org_id, user_id, email)
  select o.org_id, o.id, %(email)s from owner_row o
  on conflict (org_id, email) do update set email = excluded.email
  returning id, xmax = 0 as created
)
select id, created from made

-- name: connect_account
-- New consent: stores the sealed tokens, and what waits on the account's refresh lease sees a new version.
-- A disconnected account is held by now: jobs of the owner before were made before this statement, if not before its transaction.
update accounts set
  status = 'active', status_reason = null,
  connected_at = case when status = 'disconnected' then statement_timestamp() else connected_at end,
  status_changed_at = case status when 'active' then status_changed_at when 'disconnected' then statement_timestamp() else now() end,
  sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s, access_expires_at = %(access_expires_at)s,
  scopes = %(scopes)s::text[], google_subject = coalesce(%(subject)s, google_subject), token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s
returning id

-- name: disconnect_account
-- Forgets the tokens, the watch and how the owner writes; the mail stays. The next owner of the address may be somebody else.
with left_off as (
  update accounts set
    status = 'disconnected', status_reason = %(reason)s, status_changed_at = now(),
    sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null, scopes = '{}', google_subject = null,
    token_version = token_version + 1, refresh_owner = null, refresh_until = null,
    watch_expires_at = null, watch_renewed_at = null
  where id = %(account_id)s and status <> 'disconnected'
  returning id, org_id
),
forgotten as (
  delete from voices v using left_off l where v.org_id = l.org_id and v.account_id = l.id
)
select id from left_off

-- name: get_account
-- One account, its tokens still sealed.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at,
       sealed_access_token, sealed_refresh_token, access_expires_at, google_subject, connected_at
from accounts
where id = %(account_id)s

-- name: list_accounts
-- The accounts this transaction may see, without their tokens.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where (%(org_id)s::uuid is null or org_id = %(org_id)s)
order by org_id, email

-- name: find_accounts_by_email
-- The accounts of one mailbox in all orgs; a push names only the address.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where email = lower(%(email)s)
order by created_at, id

-- name: park_account
-- Consent is gone, unless somebody has stored newer tokens meanwhile; returns a row only the first time.
update accounts set
  status = 'needs_reconsent', status_reason = %(reason)s, status_changed_at = now(), refresh_owner = null, refresh_until = null
where id = %(account_id)s and status = 'active' and token_version = %(version)s
returning id

-- name: record_watch
-- A push watch was made or renewed. Its history id is deliberately not stored: the cursor may be older.
update accounts set watch_expires_at = %(expires_at)s, watch_renewed_at = now()
where id = %(account_id)s
returning id

-- name: find_unwatched_accounts
-- Active accounts whose push watch was last renewed before `since`, was never made, or has expired, but for those
-- that were connected after `connected_before`: their onboarding is still at it. The expired ones get no pushes.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where status = 'active' and status_changed_at < %(connected_before)s
  and (watch_renewed_at is null or watch_renewed_at < %(since)s or watch_expires_at <= now())
order by watch_renewed_at nulls first, id
limit %(limit)s

-- name: save_account_settings
-- Changes some of an account's settings and keeps the others.
update accounts set settings = settings || %(settings)s
where id = %(account_id)s
returning id

-- name: save_own_addresses
-- The addresses the account may send as, besides its own.
update accounts set own_addresses = (select coalesce(array_agg(distinct lower(a) order by lower(a)), '{}') from unnest(%(addresses)s::text[]) as a)
where id = %(account_id)s
returning id
