-- name: write_cell
-- Which cell this ledger is, and by which keys it opens what is sealed.
insert into this_cell (name, sealing_key_ids) values (%(name)s, %(key_ids)s::bytea[])
on conflict (only_row) do update set name = excluded.name, sealing_key_ids = excluded.sealing_key_ids

-- name: read_cell
-- What an org finds in this cell: its name, its schema and the columns of the org's tables, and the job types that it knows.
select c.name, c.sealing_key_ids,
  (select array_agg(v.version_num::text order by 1) from alembic_version v) || array(select m.name || ': ' || m.columns from postroom.moving_statements(%(org_id)s) m) as schema,
  array(select t.name from job_types t) as job_types
from this_cell c

-- name: read_move
select state, cell, actor_id, since from org_moves where org_id = %(org_id)s

-- name: begin_move
-- Writes down that an org leaves; an earlier arrival is over, but for what was counted before it.
insert into org_moves as m (org_id, state, cell, actor_id) values (%(org_id)s, 'leaving', %(cell)s, %(actor_id)s)
on conflict (org_id) do update set state = excluded.state, cell = excluded.cell, actor_id = excluded.actor_id, since = excluded.since
where m.state = 'arrived'
returning org_id

-- name: close_org
-- Nothing is enqueued for the org from now on.
update orgs set closed_since = coalesce(closed_since, now()) where id = %(org_id)s

-- name: reopen_org
update orgs set closed_since = null where id = %(org_id)s

-- name: end_leaving
-- The org stays; where it had come from another cell, what was counted there stays so.
with gone as (delete from org_moves where org_id = %(org_id)s and state = 'leaving' and counted_before is null returning org_id),
kept as (update org_moves set state = 'arrived' where org_id = %(org_id)s and state = 'leaving' and counted_before is not null returning org_id)
select org_id from gone union all select org_id from kept

-- name: list_held_claims
-- What workers hold of the org's jobs.
select id as job_id, claim_token as token from jobs
where next_check_at is not null and state in ('claimed', 'running') and org_id = %(org_id)s

-- name: hold_leaving
-- Lets nobody else move the org, nor claim or change a job of it that has not ended, until the transaction's end. Returns how many of these
-- are held all the same, and how many events no file of an export that was begun has yet.
with held as materialized (
  select org_id from org_moves where org_id = %(org_id)s and state = 'leaving' and cell = %(cell)s for update nowait
), unfinished as materialized (
  select state from jobs where org_id = %(org_id)s and finished_at is null order by id for update
)
select (select count(*) from unfinished where state in ('claimed', 'running')) as held,
  (select count(*) from audit_exports where exported_at is null) as exports
from held

-- name: moving_statements
select name, columns, leave, stage, take, arrive, remove, sums from postroom.moving_statements(%(org_id)s)

-- name: find_open_org
-- The org, where it is here and no copy that nobody has opened.
select o.id from orgs o
where o.id = %(org_id)s and not exists (select from org_moves m where m.org_id = o.id and m.state = 'arriving')

-- name: hold_org
-- Lets the org neither leave nor close until the transaction's end; no row where it is not here. Rows that refer to the org come in meanwhile.
select id from orgs where id = %(org_id)s for no key update

-- name: list_late_events
-- What workers have recorded of the org here since it left: the ends of calls that were under way.
select coalesce(jsonb_agg(to_jsonb(e) order by e.id), '[]') as events from audit_entries e
where e.org_id = %(org_id)s and e.event = 'effect.unrecorded'

-- name: add_late_events
-- Adds those of them that are not here yet.
insert into audit_entries (at, event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt, worker_id,
  claimed_at, parent_id, replay_of, data)
select l.at, l.event, l.org_id, l.project_id, l.actor_type, l.actor_id, l.request_id, l.correlation_id, l.job_id, l.job_type, l.attempt, l.worker_id,
  l.claimed_at, l.parent_id, l.replay_of, l.data
from jsonb_array_elements(%(events)s) with ordinality as g (entry, nth)
cross join lateral jsonb_populate_record(null::audit_entries, g.entry) as l
where not exists (select from audit_entries e where e.job_id = l.job_id and e.event = l.event and e.at = l.at and e.org_id = l.org_id)
order by g.nth

-- name: write_left
-- Writes down that the org is in another cell, whatever stood here.
insert into org_moves as m (org_id, state, cell, actor_id) values (%(org_id)s, 'left', %(cell)s, %(actor_id)s)
on conflict (org_id) do update set state = excluded.state, cell = excluded.cell, actor_id = excluded.actor_id, since = excluded.since, counted_before = null

-- name: list_long_under_way
-- Orgs that have been on their way for longer than a move takes.
select org_id, state, cell, actor_id, since from org_moves where state in ('leaving', 'arriving') and since < now() - %(longer_than)s::interval order by since

-- name: name_doors
select postroom.name_doors(%(org_id)s)

-- name: leave
update org_moves set state = 'left', since = clock_timestamp(), counted_before = null where org_id = %(org_id)s

-- name: begin_arrival
-- An org that had left this cell comes back: what was kept of it goes with its doors. So does a leaving that has no org.
delete from org_moves m where m.org_id = %(org_id)s
  and (m.state in ('left', 'arriving') or (m.state = 'leaving' and not exists (select from orgs o where o.id = m.org_id)))

-- name: arrive
-- What comes along was counted where it comes from.
insert into org_moves (org_id, state, cell, actor_id, counted_before)
select %(org_id)s, 'arriving', %(cell)s, %(actor_id)s, coalesce(max(at), '-infinity') from audit_entries where org_id = %(org_id)s

-- name: open_arrived
-- Opens the org in its new cell, once this ledger's clock is past all that came along.
update org_moves set state = 'arrived', since = clock_timestamp()
where org_id = %(org_id)s and state = 'arriving' and counted_before < clock_timestamp()
returning org_id

-- name: find_why_not
-- Why an org cannot leave now: it is being erased or was, or a person of it is; it has sealed what none of these keys opens; it has jobs,
-- schedules or open dead letters of types that these are not; or a table that no org can leave.
select (select count(*) from erasures where org_id = %(org_id)s and (finished_at is null or subject = 'org')) as erasures,
  (select count(*) from accounts where org_id = %(org_id)s and (substring(sealed_access_token from 2 for 8) <> all (%(key_ids)s::bytea[])
    or substring(sealed_refresh_token from 2 for 8) <> all (%(key_ids)s::bytea[])))
  + (select count(*) from org_secrets where org_id = %(org_id)s and key_id <> all (%(key_ids)s::bytea[])) as sealed,
  (select count(*) from artifacts where org_id = %(org_id)s and removed_at is null) as files,
  array(select distinct n.job_type from (
      select job_type::text from jobs where org_id = %(org_id)s and finished_at is null
      union all select job_type from schedules where org_id = %(org_id)s and enabled
      union all select job_type from dead_letters where org_id = %(org_id)s and state = 'open') as n
    where n.job_type <> all (%(job_types)s::text[])) as unknown_types,
  array(select t.name || ' ' || t.reason from postroom.tables_that_stay() t) as tables

-- name: count_uncounted
-- Entries of the org's that are not counted yet; none where nobody counts.
select count(*) as entries from audit_entries e
where e.org_id = %(org_id)s and e.id > (select c.counted_to from counting c where c.held_at > now() - interval '1 minute')

-- name: find_org_behind_door
-- The org that a caller has come to ask for, and the cell in which it is.
select m.org_id, m.cell from moved_doors d join org_moves m using (org_id) where d.door = %(door)s and m.state = 'left' limit 1
