-- What a list, or who scales workers, may look at without reading a whole table.

-- Writes down when a job was made whose id does not say so, nor when its enqueueing was counted.
create or replace function postroom.mark_foreign() returns trigger language plpgsql as $$
begin
  new.foreign_at := new.created_at;
  return new;
end
$$;
create or replace trigger jobs_are_foreign before insert on jobs for each row
  when (uuid_extract_version(new.id) is distinct from 7
        or uuid_extract_timestamp(new.id) - new.created_at not between interval '-1 minute' and interval '1 minute'
        or uuid_extract_timestamp(new.id) - clock_timestamp() not between interval '-1 minute' and interval '1 minute')
  execute function postroom.mark_foreign();

-- In which spans of time the history counted jobs of a type that were enqueued, the newest `most` of them before a time: minutes, and before
-- these two times ten minutes and hours, for shorter ones may be gone. For a tenant hours of its org, and of a type if one is named. What was of
-- no known type when it was counted may be of this one. A row without an end says up to when everything is counted.
create or replace function postroom.job_zones(
  of_type text, before timestamptz, minutes_since timestamptz, tens_since timestamptz, most integer)
returns table (starts timestamptz, ends timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  own_org constant uuid := postroom.current_org();
begin
  return query select c.counted_at, null::timestamptz from counting c;
  if not postroom.is_tenant() then
    return query
      select z.minute, z.minute + make_interval(mins => s.span)
      from unnest(array[of_type, 'unknown']) as t (name)
      cross join (
        values (1, minutes_since, before), (10, tens_since, least(minutes_since, before)), (60, '-infinity', least(tens_since, before))
      ) as s (span, since, until)
      cross join lateral (
        select m.minute from job_minutes m
        where m.job_type = t.name and m.span = s.span and m.minute >= s.since and m.minute < s.until and m.enqueued > 0
        order by m.minute desc limit most
      ) as z
      order by z.minute desc limit most;
  elsif of_type is not null then
    -- Each name in a query of its own: the index gives the hours in order for one name alone.
    return query
      select z.hour, z.hour + interval '1 hour' from (
        (select h.hour from org_hours h
         where h.org_id = own_org and h.job_type = of_type and h.hour < before and h.enqueued > 0 order by h.hour desc limit most)
        union all
        (select h.hour from org_hours h
         where h.org_id = own_org and h.job_type = 'unknown' and h.hour < before and h.enqueued > 0 order by h.hour desc limit most)
      ) as z order by z.hour desc limit most;
  else
    return query
      select h.hour, h.hour + interval '1 hour' from org_hours h
      where h.org_id = own_org and h.hour < before and h.enqueued > 0
      group by h.hour order by h.hour desc limit most;
  end if;
end
$$;
revoke execute on function postroom.job_zones from public;
grant execute on function postroom.job_zones to postroom_ledger, postroom_tenant;

-- How far back a list may look from a position on, in the spans of ids that it is given, the newest first: the time of the job after the `most`
-- next ones; NULL when there are no more. Of those whose ids say nothing of their time a quarter as many, for they lie apart from each other. It
-- counts the jobs of all orgs, for a tenant's list passes over them; all that a tenant learns is a time.
create or replace function postroom.look_back_at_jobs(
  before_id uuid, before_at timestamptz, last_id uuid, most integer, from_ids uuid[], to_ids uuid[]) returns timestamptz
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  left_over integer := most;
  next_id uuid;
begin
  for place in 1 .. cardinality(from_ids) loop
    select j.id into next_id from jobs j
    where j.id >= from_ids[place] and j.id < least(to_ids[place], before_id) order by j.id desc offset left_over limit 1;
    exit when next_id is not null;
    left_over := left_over - (
      select count(*) from (
        select from jobs j where j.id >= from_ids[place] and j.id < least(to_ids[place], before_id) order by j.id desc limit left_over) as seen);
  end loop;
  return greatest(
    to_timestamp(('x' || translate(left(next_id::text, 13), '-', ''))::bit(48)::bigint / 1000.0),
    -- The first condition says that the index has them.
    (select foreign_at from jobs where foreign_at <= before_at and (foreign_at, id) < (before_at, last_id)
     order by foreign_at desc, id desc offset most / 4 limit 1));
end
$$;
revoke execute on function postroom.look_back_at_jobs from public;
grant execute on function postroom.look_back_at_jobs to postroom_ledger, postroom_tenant;

-- Whether each index of unfinished jobs has at most so many of them, of all orgs: of those that are claimed or running, or of all.
create or replace function postroom.are_few_unfinished(are_held boolean, most integer) returns boolean
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select not exists (
      select from jobs where next_check_at < case when are_held then now() + interval '1 hour' else 'infinity' end
      order by next_check_at offset most)
    and (are_held or not exists (
      select from jobs where backlog_since is not null
      order by queue, priority desc, org_id, backlog_since, id offset most))
    and (are_held or not exists (
      select from jobs where parked_by is not null order by parked_by, priority desc, run_at, id offset most))
$$;
revoke execute on function postroom.are_few_unfinished from public;
grant execute on function postroom.are_few_unfinished to postroom_ledger, postroom_tenant;

-- How many jobs of a queue are due and unclaimed, for who scales the workers: no more than `most` of the backlog, and of the others those
-- among the next 10,000 that the relay has to check.
create or replace function postroom.queue_depth(in_queue text, most integer) returns bigint
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
  select least(count(*), most) from (
    (select from jobs where queue = in_queue and backlog_since is not null order by priority desc limit most)
    union all
    (select from (
       select queue, state, run_at from jobs where next_check_at < now() + interval '1 hour' order by next_check_at limit 10000
     ) as c
     where c.queue = in_queue and c.state = 'queued' and c.run_at <= now() limit most)
  ) as due
$$;
revoke execute on function postroom.queue_depth from public;
grant execute on function postroom.queue_depth to postroom_ledger, postroom_watch;
