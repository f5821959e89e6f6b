-- Slots of concurrency keys that no job holds rightly, keys with more holders than they have room for, and jobs, among the newest, that
-- are held without a slot.
select wrong from (
  select format('the slot %%s of %%s is held by a job that is %%s', s.slot, s.serial_key, coalesce(j.state::text, 'gone')) as wrong
  from serial_slots s left join jobs j on j.id = s.job_id
  where j.state is null or j.state not in ('claimed', 'running')
  union all
  select format('the slot %%s of %%s is held by a job with the key %%s', s.slot, s.serial_key, coalesce(j.serial_key, 'none'))
  from serial_slots s left join jobs j on j.id = s.job_id
  where j.serial_key is distinct from s.serial_key
  union all
  select format('%%s jobs hold %%s, which has %%s slots', count(*), serial_key, postroom.serial_limit(serial_key))
  from serial_slots group by serial_key
  having count(*) > postroom.serial_limit(serial_key)
  union all
  select format('job %%s is held without a slot of %%s', j.id, j.serial_key)
  from (select id, state, serial_key from jobs order by id desc limit %(batch)s) as j
  where j.state in ('claimed', 'running') and j.serial_key is not null
    and not exists (select from serial_slots s where s.job_id = j.id and s.serial_key = j.serial_key)
) as found
limit %(most)s
