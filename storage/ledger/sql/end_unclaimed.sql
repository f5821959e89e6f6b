-- Ends the queued jobs of these that are canceled or expired. A statement of its own, after the claim that found them: their hooks may
-- write any row, and a statement must not update a row that a function called by it has changed.
select l.what from (
  select array_agg(id) as ids, array_agg(reason) as reasons, array_agg(jsonb_build_object('reason', reason)) as details, count(*)::int as jobs
  from (
    select id, case when cancel_requested_at is null then 'expired' else coalesce(cancel_reason, 'canceled') end as reason
    from jobs
    where id = any (%(job_ids)s::uuid[]) and state = 'queued' and (cancel_requested_at is not null or expires_at <= now())
    order by id for update skip locked  -- whoever has locked one is ending or claiming it
  ) as e
  having count(*) > 0
) as q
cross join lateral postroom.leave_claims(q.ids, '{}', states => array_fill('canceled'::text, array[q.jobs]), reasons => q.reasons,
  details => q.details) as l
