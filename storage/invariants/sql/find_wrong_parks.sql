-- Parked jobs that wait for nothing: for another key than their own, a key with room, or a gate that is open.
select wrong from (
  select format('job %%s with the key %%s is parked by %%s', id, serial_key, parked_by) as wrong
  from jobs where parked_by like 'key:%%' and parked_by <> 'key:' || coalesce(serial_key, '')
  union all
  select distinct format('jobs are parked by %%s, which has room', serial_key)
  from jobs
  where parked_by like 'key:%%' and postroom.serial_limit(serial_key)
    > (select count(*) from serial_slots s where s.serial_key = jobs.serial_key)
  union all
  select distinct format('jobs are parked by %%s, which is open', parked_by)
  from jobs
  where parked_by like 'gate:%%' and not exists (
    select from gates g where (g.until is null or g.until > now()) and parked_by = 'gate:' || g.scope || ':' || g.key)
) as found
limit %(most)s
