"""Rows of the history's longer spans, which the counter writes beside those of a minute."""

NUMBERS = ("enqueued", "started", "retried", "succeeded", "failed", "dead", "canceled", "lost", "seconds", "microcents")
MEASURES = ("due", "backlog", "published", "parked", "held", "oldest_due_s", "slots")
BUCKETS = ", ".join(f"sum(histogram[{place}])::integer" for place in range(1, 18))
SPREAD = f"""
delete from job_minutes where span > 1;
delete from queue_samples where span > 1;
insert into job_minutes (minute, span, job_type, queue, {", ".join(NUMBERS)}, histogram)
select date_bin(make_interval(mins => longer), minute, 'epoch'), longer, job_type, queue,
  {", ".join(f"sum({name})" for name in NUMBERS)}, array[{BUCKETS}]
from job_minutes, unnest(array[10, 60, 1440]) longer where span = 1 group by 1, 2, 3, 4 on conflict do nothing;
insert into queue_samples (minute, span, queue, {", ".join(MEASURES)})
select date_bin(make_interval(mins => longer), minute, 'epoch'), longer, queue,
  {", ".join(f"max({name})" for name in MEASURES)}
from queue_samples, unnest(array[10, 60, 1440]) longer where span = 1 group by 1, 2, 3 on conflict do nothing
"""
"""Makes them of the rows of minutes that were written by hand."""
