-- name: ensure_org
-- The org of that name, made if there is none. The caller holds the name's advisory lock, since names are not unique.
with found as (
  select id from orgs where name = %(name)s order by created_at limit 1
),
made as (
  insert into orgs (name) select %(name)s where not exists (select from found) returning id
)
select id from found union all select id from made

-- name: open_account
-- The open row of a mailbox in an org. Where it has none, the row by which the same Google user had it is opened again, or a new one is made.
-- A row that was not open has no tokens: its caller stores a consent. One whose owner is being erased goes with them.
-- It is opened now, not when the transaction began: while that waited for the mailbox's lock, the connection before may have asked for jobs.
with owner_row as (
  insert into users (org_id, email, role) values (%(org_id)s, %(owner)s, 'owner')
  on conflict (org_id, email) do update set email = excluded.email
  returning id, org_id
),
reopened as (
  update accounts a set
    user_id = o.id, status = 'needs_reconsent', status_reason = 'no consent was given yet', status_changed_at = now(), reopened_at = clock_timestamp()
  from owner_row o
  where (a.org_id, a.email, a.google_subject) = (o.org_id, %(email)s, %(subject)s) and a.status = 'disconnected'
    and not exists (select from accounts k where (k.org_id, k.email) = (a.org_id, a.email) and k.status <> 'disconnected')
    and not exists (select from users u where u.id in (a.user_id, o.id) and u.erasing_since is not null)
  returning a.id
),
opened as (
  insert into accounts (org_id, user_id, email, status, status_reason)
  select o.org_id, o.id, %(email)s, 'needs_reconsent', 'no consent was given yet' from owner_row o where not exists (select from reopened)
  on conflict (org_id, email) where status <> 'disconnected' do update set email = excluded.email
  returning id, xmax = 0 as created
)
select id, true as created from reopened union all select id, created from opened

-- name: connect_account
-- A consent: stores the sealed tokens, and what waits on the account's refresh lease sees a new version. Never for a closed row.
update accounts set
  status = 'active', status_reason = null, status_changed_at = case status when 'active' then status_changed_at else now() end,
  sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s, access_expires_at = %(access_expires_at)s,
  scopes = %(scopes)s::text[], google_subject = coalesce(%(subject)s, google_subject), token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s and status <> 'disconnected'
returning id

-- name: disconnect_account
-- Closes a row, and forgets its tokens and watch; the mail stays.
update accounts set
  status = 'disconnected', status_reason = %(reason)s, status_changed_at = now(),
  sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null, scopes = '{}',
  token_version = token_version + 1, refresh_owner = null, refresh_until = null,
  watch_expires_at = null, watch_renewed_at = null
where id = %(account_id)s and status <> 'disconnected'
returning id

-- name: forget_voice
-- How the owner writes, where nobody knows their Google user: no connection opens the row again.
delete from voices v using accounts a
where a.id = %(account_id)s and a.google_subject is null and (v.org_id, v.account_id) = (a.org_id, a.id)
returning v.account_id

-- name: lock_account
-- Locks an account until the transaction ends, and returns its status; to a job of an earlier connection it is disconnected.
select case when postroom.is_of_earlier_connection(reopened_at) then 'disconnected' else status end as status
from accounts where id = %(account_id)s for no key update

-- name: get_account
-- One account, its tokens still sealed; to a job of an earlier connection it is disconnected.
select id as account_id, org_id, user_id, email,
       case when postroom.is_of_earlier_connection(reopened_at) then 'disconnected' else status end as status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at,
       sealed_access_token, sealed_refresh_token, access_expires_at, google_subject, reopened_at
from accounts
where id = %(account_id)s

-- name: list_accounts
-- The accounts this transaction may see after a position, without their tokens; of an address, only those that are open.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
from accounts
where (%(org_id)s::uuid is null or org_id = %(org_id)s)
  and (%(of_email)s::text is null or (email = %(of_email)s and status <> 'disconnected'))
  and (email, id) > (coalesce(%(after_email)s::text, ''), coalesce(%(after_account_id)s::uuid, '00000000-0000-0000-0000-000000000000'))
order by email, id
limit %(limit)s

-- name: find_accounts_by_email
-- The rows of one mailbox in all orgs, closed ones too; a push names only the address.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at, google_subject
from accounts
where email = %(email)s
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
-- The addresses the account may send as, besides its own, as they are compared.
update accounts set own_addresses = %(addresses)s::text[]
where id = %(account_id)s
returning id

-- name: read_mailbox_standing
-- How a mailbox is, by bounded looks: a day of its mail, at most 5,000 messages and 1,000 actions, and its newest unfinished backfills.
select a.watch_renewed_at, case when a.sending_paused_until > now() then a.sending_paused_until end as sending_paused_until,
  (select m.received_at from messages m where (m.org_id, m.account_id) = (a.org_id, a.id) order by m.received_at desc limit 1) as newest_mail_at,
  (select count(*) filter (where d.direction = 'outgoing') from (
    select m.direction from messages m
    where (m.org_id, m.account_id) = (a.org_id, a.id) and m.received_at >= date_trunc('day', now(), 'UTC') limit 5000
  ) d) as sent_today,
  (select count(*) from (
    select from actions w where (w.org_id, w.account_id) = (a.org_id, a.id) and w.state = 'approved_pending' limit 1000
  ) w) as actions_waiting,
  (select coalesce(jsonb_agg(to_jsonb(b)), '[]') from (
    select f.job_id, f.query, f.found, f.ordered, f.handled, f.stored, f.started_at, f.changed_at from backfills f
    where (f.org_id, f.account_id) = (a.org_id, a.id) and (f.state = 'listing' or f.handled < f.ordered) order by f.started_at desc limit 5
  ) b) as backfills
from accounts a where a.id = %(account_id)s
