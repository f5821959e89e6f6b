-- name: publish_job_types
-- Writes lines of the catalogue; an older worker beside a newer one adds the shape of its payload, and turns nothing back. Refuses an
-- end-of-job hook that no migration has made. A line of another package than the row's changes nothing (names_of_other_packages). Who names no hook or no audit event removes none: in a rolling deploy that is an older worker. A migration
-- removes a hook, by setting on_end to NULL.
insert into job_types as t (name, aliases, queue, payload_version, max_attempts, deadline, unique_mode,
                            unique_fields, keep_key_for, serial_field, serial_limit, providers, on_end, hears_success, audits, asked_by, package, payload_shapes)
select name, aliases, queue, payload_version, max_attempts, deadline, unique_mode, unique_fields, keep_key_for,
       serial_field, serial_limit, providers, postroom.checked_end_hook(on_end), hears_success, audits, asked_by, package, payload_shapes
from jsonb_to_recordset(%(lines)s) as line(
  name text, aliases text[], queue text, payload_version int, max_attempts int, deadline interval,
  unique_mode text, unique_fields text[], keep_key_for interval, serial_field text, serial_limit int,
  providers text[], on_end text, hears_success boolean, audits text[], asked_by text, package text, payload_shapes jsonb)
order by name  -- in one order, so that two workers that begin at once wait for each other and do not deadlock
on conflict (name) do update set
  -- A shape that nobody published yet is added by whoever knows it; one's own replaces the last of the same version.
  payload_shapes = t.payload_shapes || excluded.payload_shapes,
  aliases = case when excluded.payload_version >= t.payload_version then excluded.aliases else t.aliases end,
  queue = case when excluded.payload_version >= t.payload_version then excluded.queue else t.queue end,
  payload_version = case when excluded.payload_version >= t.payload_version then excluded.payload_version else t.payload_version end,
  max_attempts = case when excluded.payload_version >= t.payload_version then excluded.max_attempts else t.max_attempts end,
  deadline = case when excluded.payload_version >= t.payload_version then excluded.deadline else t.deadline end,
  unique_mode = case when excluded.payload_version >= t.payload_version then excluded.unique_mode else t.unique_mode end,
  unique_fields = case when excluded.payload_version >= t.payload_version then excluded.unique_fields else t.unique_fields end,
  keep_key_for = case when excluded.payload_version >= t.payload_version then excluded.keep_key_for else t.keep_key_for end,
  serial_field = case when excluded.payload_version >= t.payload_version then excluded.serial_field else t.serial_field end,
  serial_limit = case when excluded.payload_version >= t.payload_version then excluded.serial_limit else t.serial_limit end,
  providers = case when excluded.payload_version >= t.payload_version then excluded.providers else t.providers end,
  on_end = case when excluded.payload_version >= t.payload_version then coalesce(excluded.on_end, t.on_end) else t.on_end end,
  hears_success = case when excluded.payload_version >= t.payload_version then excluded.hears_success else t.hears_success end,
  audits = case when excluded.payload_version >= t.payload_version
    then array(select distinct a from unnest(t.audits || excluded.audits) as a order by a) else t.audits end,
  asked_by = case when excluded.payload_version >= t.payload_version then excluded.asked_by else t.asked_by end,
  seen_at = now()
where t.package = excluded.package

-- name: names_of_other_packages
-- Of lines of the catalogue, the first that takes a name or an alias of another package's job type, and whose that is.
select l.name, t.name as taken, t.package
from jsonb_to_recordset(%(lines)s) as l (name text, aliases text[], package text)
join job_types t on t.package <> l.package
  and (t.name = l.name or t.name = any (l.aliases) or l.name = any (t.aliases) or t.aliases && l.aliases)
order by l.name limit 1

-- name: list_job_types
-- What workers have published, by name. A type that is gone from the code keeps its row.
select name as job_type, package, queue, aliases, payload_version, max_attempts, extract(epoch from deadline)::float8 as deadline_s, asked_by, seen_at
from job_types
where %(after_job_type)s::text is null or name > %(after_job_type)s
order by name
limit %(limit)s

-- name: packages_of_queues
-- By package other than the fleet's own and queue: how many living workers serve the queue, and the job types that as many of them have. Two
-- workers may have different modules of a package, or different versions.
select t.package, t.queue, array_agg(t.name order by t.name) as job_types, w.workers, w.knowing
from job_types t cross join lateral (
  select count(*) as workers, count(*) filter (where t.name = any (w.own_job_types)) as knowing
  from workers w where w.lease_until > now() and t.queue = any (w.queues)) w
where t.package <> 'postroom' group by t.package, t.queue, w.workers, w.knowing order by t.package, t.queue, w.knowing

-- name: is_any_waiting
-- Whether a job of these types waits, among the 10,000 that are looked at next and the first 10,000 of the backlog.
select exists (
  select from (
    (select job_type, state from jobs where next_check_at is not null order by next_check_at limit 10000)
    union all
    (select job_type, state from jobs where backlog_since is not null limit 10000)
  ) as c
  where c.state = 'queued' and c.job_type = any (%(job_types)s)
) as found
