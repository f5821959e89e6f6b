-- Picks the queued jobs that are due: scheduled ones, retries, backlog, and hints that were out too long. They are marked
-- published before the hints go out; if the hints get lost, their patience ends and they come round again.
with due as (
  select j.id, j.job_type, j.queue, g.until as gated_until from (
    select * from jobs where attention_at <= now() and state = 'queued'
    order by attention_at limit %(batch)s for update skip locked
  ) as j
  cross join lateral (
    select case when exists (select from gates)
      then postroom.gated_until(j.org_id, j.job_type, j.queue, j.payload ->> 'account_id') end as until
  ) as g
),
marked as (
  update jobs j set
    published_at = case when d.gated_until is null then now() end,
    attention_at = case when d.gated_until is null then now() + %(patience)s::interval
                        else least(d.gated_until, now() + interval '15 seconds') end
  from due d where j.id = d.id
  returning j.id, j.job_type, j.queue, d.gated_until
)
select m.id, m.job_type, m.queue, t.light from marked m join job_types t on t.name = m.job_type where m.gated_until is null
