-- name: find_erasure
-- The erasure that is under way of a person, by address or id, or of an org, by name or id; the newest that was finished of such a person,
-- by the address's hash, or of the org.
select id as erasure_id, org_id, subject, person_id, marks, begun_at, finished_at, rows, files
from erasures e
where e.subject = %(subject)s and (%(org_id)s::uuid is null or e.org_id = %(org_id)s::uuid)
  and case when e.finished_at is null
    then %(key)s in (select m ->> 'key' from jsonb_array_elements(e.marks) as m) or e.org_id::text = %(key)s
    else (e.subject = 'org' and e.org_id::text = %(key)s)
      or postroom.known_address_hash(e.org_id, 'email', %(key)s) = any (e.hashes)
      or postroom.known_address_hash(e.org_id, 'id', %(key)s) = any (e.hashes) end
order by e.finished_at desc nulls first
limit 2

-- name: find_whom_to_erase
-- A person by address or id; two at most, of two orgs.
select id as user_id, org_id, email from users
where (email = %(key)s or id::text = %(key)s) and (%(org_id)s::uuid is null or org_id = %(org_id)s::uuid)
limit 2

-- name: find_removed_user
-- The id of somebody whom the org has removed, as the audit log has it.
select data ->> 'user_id' as user_id from audit_log
where org_id = %(org_id)s and event = 'user.removed' and data ->> 'user_id' = %(id)s and pg_input_is_valid(%(id)s, 'uuid')
limit 1

-- name: list_marks_of_people
-- By what each person of the org is known.
select u.id as user_id, 'id' as kind, u.id::text as text from users u where u.org_id = %(org_id)s
union select u.id, 'address', u.email from users u where u.org_id = %(org_id)s
union select u.id, 'number', u.discord_user_id from users u where u.org_id = %(org_id)s and u.discord_user_id is not null
union select a.user_id, 'address', unnest(array[a.email] || a.own_addresses) from accounts a where a.org_id = %(org_id)s and a.user_id is not null
union select a.user_id, 'number', a.google_subject from accounts a where a.org_id = %(org_id)s and a.user_id is not null and a.google_subject is not null
union select c.user_id, case c.channel when 'email' then 'address' when 'sms' then 'phone' else 'token' end, c.address
  from contact_points c where c.org_id = %(org_id)s
union select c.user_id, 'name', c.name from collaborators c where c.org_id = %(org_id)s and c.user_id is not null
order by kind, text

-- name: list_accounts_of_erased
-- The mailboxes of a person, or of an org.
select id from accounts where org_id = %(org_id)s and (%(user_id)s::uuid is null or user_id = %(user_id)s::uuid) order by id

-- name: begin_erasure
-- Writes down whom an erasure is of, and lets nothing new about them in; their mailboxes are closed.
with closed as (
  update accounts set status = 'disconnected', status_reason = 'the owner is being erased', status_changed_at = now(),
    sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null, scopes = '{}', token_version = token_version + 1,
    refresh_owner = null, refresh_until = null, watch_expires_at = null, watch_renewed_at = null
  where id = any (%(accounts)s::uuid[]) and status <> 'disconnected'
),
the_person as (
  update users set erasing_since = coalesce(erasing_since, now()) where id = %(user_id)s::uuid
),
the_org as (
  update orgs set erasing_since = coalesce(erasing_since, now()) where id = %(org_id)s and %(subject)s = 'org'
),
the_keys as (
  update api_keys set revoked_at = now(), revoked_by = 'erasure' where org_id = %(org_id)s and %(subject)s = 'org' and revoked_at is null
)
insert into erasures (org_id, subject, person_id, marks, accounts, addresses, ids, hashes, reason, begun_by)
values (%(org_id)s, %(subject)s, %(user_id)s, %(marks)s, %(accounts)s::uuid[], %(addresses)s::text[], %(ids)s,
  case when %(user_id)s::uuid is null then '{}'
    else array[postroom.address_hash(%(org_id)s, 'email', %(email)s), postroom.address_hash(%(org_id)s, 'id', %(user_id)s::text)] end, %(reason)s, %(by)s)
on conflict (org_id, person_id) where finished_at is null do nothing
returning id as erasure_id

-- name: name_marks
-- Looks for more from now on.
update erasures set marks = %(marks)s where id = %(erasure_id)s and finished_at is null

-- name: list_erasure_rules
-- The tables in the order in which they are gone through; the rule of a table of one's own may outlive the table.
select table_name from erasure_rules where org_rows is not null and to_regclass(table_name) is not null order by number desc

-- name: list_tables_without_rule
select name from postroom.tables_without_rule() as t (name)

-- name: count_pages
select (pg_relation_size(%(of_table)s::regclass) / current_setting('block_size')::bigint)::bigint as pages

-- name: erase_rows
select rows, next::text as next_row, blocked
from postroom.erase_rows(%(erasure_id)s, %(from_table)s, %(first_row)s::text::tid, %(pages)s, %(turn)s, %(patterns)s::text[], %(instead)s::text[],
  %(loose)s, %(identity)s)

-- name: find_live_jobs_of_erased
-- Jobs on some pages that have not ended and are the org's, or about the person: they have an id or an address of the person or of a mailbox
-- of theirs, or refer to a mail or an action that has one, or to what is delivered to the person. A name alone cancels nothing.
select j.id
from jobs j
join erasures e on e.id = %(erasure_id)s
cross join lateral (
  select case when pg_input_is_valid(j.payload ->> 'order_id', 'uuid') then (j.payload ->> 'order_id')::uuid end as order_id,
    case when pg_input_is_valid(j.payload ->> 'action_id', 'uuid') then (j.payload ->> 'action_id')::uuid end as action_id,
    case when pg_input_is_valid(j.payload ->> 'delivery_id', 'uuid') then (j.payload ->> 'delivery_id')::uuid end as delivery_id,
    case when pg_input_is_valid(j.payload ->> 'notification_id', 'uuid') then (j.payload ->> 'notification_id')::uuid end as notification_id,
    case when pg_input_is_valid(j.payload ->> 'digest_id', 'uuid') then (j.payload ->> 'digest_id')::uuid end as digest_id
) as refers
cross join lateral (
  select string_agg(r.words, ' ') as words, coalesce(bool_or(r.user_id = e.person_id), false) as are_theirs
  from (
    select o.words::text as words, null::uuid as user_id from email_orders o where o.id = refers.order_id and o.org_id = e.org_id
    union all select a.parameters::text, null from actions a where a.id = refers.action_id and a.org_id = e.org_id
    union all select null, d.user_id from deliveries d where d.id = refers.delivery_id and d.org_id = e.org_id
    union all select null, n.user_id from notifications n where n.id = refers.notification_id and n.org_id = e.org_id
    union all select null, g.user_id from digests g where g.id = refers.digest_id and g.org_id = e.org_id
  ) as r
) as referred
cross join lateral (
  select concat_ws(' ', j.payload::text, j.actor_id, j.idempotency_key, j.serial_key, j.request_id, j.correlation_id, referred.words)
    collate "pg_c_utf8" as words
) as texts
where j.ctid >= %(first)s::text::tid and j.ctid < %(after)s::text::tid and j.org_id = e.org_id and j.finished_at is null
  and (e.subject = 'org' or referred.are_theirs or j.payload::text ~* e.ids or j.actor_id ~* e.ids
    or (texts.words ~* %(loose)s and texts.words ~* %(identity)s))

-- name: count_older_claims
-- Jobs of the org that a worker has held since before a time: what they read may come back with what they write.
select count(*) as jobs from jobs
where org_id = %(org_id)s and next_check_at is not null and state in ('claimed', 'running') and claimed_at < %(before)s

-- name: list_open_transactions
-- Each holds a lock on its own id until its end, whether it has written or not yet.
select l.virtualtransaction as id, l.pid, a.usename as role
from pg_locks l join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'virtualxid' and l.granted and l.mode = 'ExclusiveLock' and a.datname = current_database() and a.usename is not null
  and l.pid <> pg_backend_pid()

-- name: count_erased
update erasures set rows = rows + %(rows)s, files = files + %(files)s where id = %(erasure_id)s

-- name: forget_statistics
select postroom.forget_statistics(%(erasure_id)s, %(of_table)s, %(loose)s)

-- name: finish_erasure
-- Forgets by what the person was found. The row says that it is done, and to whoever has the address, of whom.
update erasures set finished_at = now(), person_id = null, marks = null, accounts = null, addresses = null, ids = null
where id = %(erasure_id)s and finished_at is null
  and not exists (select from users u where u.id = erasures.person_id)
returning id as erasure_id, org_id, subject, begun_at, finished_at, rows, files

-- name: get_finished_erasure
select id as erasure_id, org_id, subject, begun_at, finished_at, rows, files from erasures where id = %(erasure_id)s and finished_at is not null
