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
-- The open row of a mailbox in an org, made with its owner if there is none. A new one has no tokens: its caller stores a consent.
with owner_row as (
  insert into users (org_id, email, role) values (%(org_id)s, %(owner)s, 'owner')
  on conflict (org_id, email) do update set email = excluded.email
  returning id, org_id
)
insert into accounts (org_id, user_id, email, status, status_reason)
select o.org_id, o.id, %(email)s, 'needs_reconsent', 'no consent was given yet' from owner_row o
on conflict (org_id, email) where status <> 'disconnected' do update set email = excluded.email
returning id, xmax = 0 as created

-- name: connect_account
-- A consent: stores the sealed tokens, and what waits on the account's refresh lease sees a new version. Never for a closed row.
update accounts set
  status = 'active', status_reason = null, status_changed_at = case status when 'active' then status_changed_at else now() end,
  sealed_access_token = %(access)s, sealed_refresh_token = %(refresh)s, access_expires_at = %(access_expires_at)s,
  scopes = %(scopes)s::text[], google_subject = coalesce(%(subject)s, google_subject), token_version = token_version + 1, refresh_owner = null, refresh_until = null
where id = %(account_id)s and status <> 'disconnected'
returning id

-- name: inherit_account
-- Gives a connection what a person has written about the mailbox, once its Google user is known. It comes from the last connection that
-- the same user had in the org, with the drafts that are in the mailbox. Rows are moved, so that a rule or a schedule keeps its id. What the
-- connection has of its own stays.
with before as (
  select o.org_id, o.id, o.settings, o.own_addresses, o.sending_paused_until
  from accounts n join accounts o on (o.org_id, o.email, o.google_subject) = (n.org_id, n.email, n.google_subject)
  where n.id = %(account_id)s and o.status = 'disconnected'
  order by o.status_changed_at desc, o.id desc
  limit 1
),
the_settings as (
  update accounts n set
    settings = b.settings || n.settings, own_addresses = case n.own_addresses when '{}' then b.own_addresses else n.own_addresses end,
    sending_paused_until = greatest(n.sending_paused_until, b.sending_paused_until)
  from before b where n.id = %(account_id)s
),
the_rules as (
  update rules r set account_id = %(account_id)s from before b where (r.org_id, r.account_id) = (b.org_id, b.id)
),
the_policy as (
  update safety_policies p set account_id = %(account_id)s from before b
  where (p.org_id, p.account_id) = (b.org_id, b.id)
    and not exists (select from safety_policies k where (k.org_id, k.account_id) = (b.org_id, %(account_id)s))
),
the_agents as (
  update agent_profiles p set account_id = %(account_id)s from before b
  where (p.org_id, p.account_id) = (b.org_id, b.id)
    and not exists (select from agent_profiles k where (k.org_id, k.account_id, k.name) = (b.org_id, %(account_id)s, p.name))
),
the_labels as (
  update labels l set account_id = %(account_id)s from before b
  where (l.org_id, l.account_id) = (b.org_id, b.id)
    and not exists (
      select from labels k where (k.org_id, k.account_id) = (b.org_id, %(account_id)s)
        and (k.gmail_label_id = l.gmail_label_id or k.role = l.role))
),
the_descriptions as (
  update labels l set description = o.description, for_classifier = o.for_classifier
  from before b join labels o on (o.org_id, o.account_id) = (b.org_id, b.id)
  where (l.org_id, l.account_id, l.gmail_label_id) = (b.org_id, %(account_id)s, o.gmail_label_id)
    and l.description = '' and not l.for_classifier
),
the_voice as (
  update voices v set account_id = %(account_id)s from before b
  where (v.org_id, v.account_id) = (b.org_id, b.id)
    and not exists (select from voices k where (k.org_id, k.account_id) = (b.org_id, %(account_id)s))
),
the_drafts as (
  -- Threads with a draft of ours in the mailbox: who did not know of it would write another beside it.
  select e.id, e.gmail_thread_id from before b join emails e on (e.org_id, e.account_id) = (b.org_id, b.id)
  where e.state in ('drafted', 'rework_requested')
    and not exists (
      select from emails k where (k.org_id, k.account_id, k.gmail_thread_id) = (b.org_id, %(account_id)s, e.gmail_thread_id))
),
the_threads as (
  insert into threads (org_id, account_id, gmail_thread_id, first_message_at, last_message_at)
  select t.org_id, %(account_id)s, t.gmail_thread_id, t.first_message_at, t.last_message_at
  from before b join threads t on (t.org_id, t.account_id) = (b.org_id, b.id)
  where t.gmail_thread_id in (select d.gmail_thread_id from the_drafts d)
  on conflict do nothing
),
the_tokens as (
  update draft_tokens t set account_id = %(account_id)s from before b
  where (t.org_id, t.account_id) = (b.org_id, b.id) and t.gmail_thread_id in (select d.gmail_thread_id from the_drafts d)
),
the_records as (
  update emails e set account_id = %(account_id)s from the_drafts d where e.id = d.id
),
the_schedules as (
  update schedules s set payload = s.payload || jsonb_build_object('account_id', %(account_id)s::uuid)
  from before b where s.org_id = b.org_id and s.payload ->> 'account_id' = b.id::text
),
the_gates as (
  -- A person's pause, and a provider's wish to wait: both are of the mailbox.
  insert into gates (scope, key, cause, reason, until, actor)
  select g.scope, %(account_id)s::uuid::text, g.cause, g.reason, g.until, g.actor from before b join closed_gates g on g.key = b.id::text
  where g.scope = 'account' and g.cause in ('pause', 'slow_down')
  on conflict (scope, key, cause) do update set reason = excluded.reason, until = excluded.until, actor = excluded.actor, closed_at = now()
  where coalesce(excluded.until, 'infinity') > coalesce(gates.until, 'infinity') or gates.until <= now()
),
the_jobs_of_before as (
  -- What waits behind the closed row's gates goes on, and is canceled.
  update gates g set until = now() from before b
  where g.scope = 'account' and g.key = b.id::text and (g.until is null or g.until > now())
  returning pg_notify('postroom_due', 'gate')
)
select id from before

-- name: find_successor
-- The open row of the mailbox that a closed row was a connection of: the same address and Google user, in the same org.
select n.id
from accounts o join accounts n on (n.org_id, n.email, n.google_subject) = (o.org_id, o.email, o.google_subject)
where o.id = %(account_id)s and o.status = 'disconnected' and n.status <> 'disconnected'

-- name: disconnect_account
-- Closes a row for good, and forgets its tokens and watch; the mail stays.
update accounts set
  status = 'disconnected', status_reason = %(reason)s, status_changed_at = now(),
  sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null, scopes = '{}',
  token_version = token_version + 1, refresh_owner = null, refresh_until = null,
  watch_expires_at = null, watch_renewed_at = null
where id = %(account_id)s and status <> 'disconnected'
returning id

-- name: forget_voice
-- How the owner writes, where nobody can inherit it: the address may be somebody else's next.
delete from voices v using accounts a
where a.id = %(account_id)s and a.google_subject is null and (v.org_id, v.account_id) = (a.org_id, a.id)
returning v.account_id

-- name: lock_account
-- Locks an account until the transaction ends, and returns its status.
select status from accounts where id = %(account_id)s for no key update

-- name: get_account
-- One account, its tokens still sealed.
select id as account_id, org_id, user_id, email, status, status_reason, status_changed_at, scopes, token_version, history_id, full_synced_at,
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at,
       sealed_access_token, sealed_refresh_token, access_expires_at, google_subject
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
       watch_expires_at, watch_renewed_at, own_addresses, settings, created_at
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
