-- name: list_lacking_details
-- The org's next events without details by a version of the rules, in the order of their numbers. An event is numbered before its commit, so
-- one with an earlier number may have come after the last that has details: those of its last hour are looked at again, as no transaction
-- is open for as long.
with last as (
  select max(event_id) as id from audit_details where org_id = %(org_id)s and rule_version = %(rule_version)s
)
select e.id as event_id, e.data
from audit_entries e
where e.org_id = %(org_id)s and e.event = 'run_sheet.changed'
  and e.id > coalesce((
    select o.id from audit_entries o
    where o.org_id = %(org_id)s and o.event = 'run_sheet.changed' and o.id < (select l.id from last l)
      and o.at < (
        select w.at from audit_entries w
        where w.org_id = %(org_id)s and w.event = 'run_sheet.changed' and w.id <= (select l.id from last l) order by w.id desc limit 1
      ) - interval '1 hour'
    order by o.id desc limit 1), 0)
  -- Asked row by row: a NOT EXISTS may be answered by reading all details of the org.
  and (
    select d.event_id from audit_details d
    where d.org_id = %(org_id)s and d.rule_version = %(rule_version)s and d.event_id = e.id limit 1) is null
order by e.id
limit %(limit)s

-- name: add_details
-- Nothing where another job was faster: the same event and rules have the same details.
insert into audit_details (org_id, rule_version, event_id, subject, subject_id, revision, changes, sentences, made_by)
values (%(org_id)s, %(rule_version)s, %(event_id)s, %(subject)s, %(subject_id)s, %(revision)s, %(changes)s, %(sentences)s, %(made_by)s)
on conflict do nothing

-- name: list_orgs_lacking_details
-- The next orgs that have such events, and whether the newest lacks details by a version of the rules.
with recursive orgs_of as (
  (select e.org_id from audit_entries e
   where e.event = 'run_sheet.changed' and e.org_id > %(after)s order by e.org_id limit 1)
  union all
  select (select e.org_id from audit_entries e where e.event = 'run_sheet.changed' and e.org_id > o.org_id order by e.org_id limit 1)
  from orgs_of o where o.org_id is not null
)
select o.org_id,
  (select e.id from audit_entries e where e.event = 'run_sheet.changed' and e.org_id = o.org_id order by e.id desc limit 1)
    > coalesce((
      select d.event_id from audit_details d where d.org_id = o.org_id and d.rule_version = %(rule_version)s
      order by d.event_id desc limit 1), 0) as is_lacking
from (select org_id from orgs_of where org_id is not null limit %(limit)s) as o

-- name: list_details_of_events
-- The newest details of each of these events.
select distinct on (org_id, event_id) event_id, rule_version, subject, subject_id, revision, changes, sentences, made_at
from audit_details
where event_id = any (%(event_ids)s) and org_id = any (%(org_ids)s)
order by org_id, event_id, rule_version desc

-- name: list_details_of_event
-- All details of an event, those by the newest rules first.
select event_id, rule_version, subject, subject_id, revision, changes, sentences, made_at
from audit_details where org_id = %(org_id)s and event_id = %(event_id)s
order by rule_version desc

-- name: list_events_of_subject
-- What changed a thing, the newest first, before an event's number.
select e.id, e.at, e.event, e.org_id, e.actor_type, e.actor_id, e.job_type, e.job_id, e.attempt, e.correlation_id,
  e.data - '{before,after}'::text[] as data
from (
  select distinct event_id from audit_details
  where org_id = %(org_id)s and subject_id = %(subject_id)s and event_id < %(before)s
  order by event_id desc limit %(limit)s
) as d
join audit_entries e on e.org_id = %(org_id)s and e.event = 'run_sheet.changed' and e.id = d.event_id
order by e.id desc
