-- The 99th percentile of the milliseconds between a job's start and its end, by job type.
select job_type, percentile_cont(0.99) within group (order by extract(epoch from finished_at - started_at) * 1000)
from jobs
where job_type = any (%(types)s) and state = 'succeeded'
group by job_type
