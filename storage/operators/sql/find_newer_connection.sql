-- The account of a job that was enqueued in the place of another, if it was connected after that one was made, or if nobody knows when
-- that was. A connection that is under way is waited for.
with held as (
  select a.connected_at from jobs j join accounts a on a.org_id = j.org_id and a.id::text = j.payload ->> 'account_id'
  where j.id = %(job_id)s
  for share of a
)
select from held where connected_at > coalesce(%(made_at)s::timestamptz, '-infinity')
