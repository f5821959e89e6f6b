-- name: list_account_bounds
-- Every so-manieth active account, in the order of their ids: where one part of the fleet ends and the next begins.
select id from (
  select id, row_number() over (order by id) as place from accounts where status = 'active'
) as a
where place %% %(batch)s = 0 order by id

-- name: list_orgs_of_accounts
-- The orgs that have active accounts in a part of the fleet.
select distinct org_id from accounts where status = 'active' and id > %(after)s::uuid and id <= %(upto)s::uuid

-- name: fan_out_to_accounts
-- Enqueues one job for each active account of a part of the fleet, as children of the job that asks; a taken key is passed over.
with batch as (
  select id, org_id from accounts
  where status = 'active' and id > %(after)s::uuid and id <= %(upto)s::uuid and (%(org_ids)s::uuid[] is null or org_id = any (%(org_ids)s::uuid[]))
  order by id
),
requests as (
  select jsonb_agg(jsonb_build_object(
    'job_type', %(job_type)s::text, 'org_id', org_id, 'payload', %(payload)s::jsonb || jsonb_build_object('account_id', id),
    'payload_version', %(payload_version)s::int, 'checked', true,
    'actor_type', 'system', 'actor_id', %(actor_id)s::text, 'request_id', %(request_id)s::text,
    'correlation_id', %(correlation_id)s::text, 'parent_id', %(parent_id)s::uuid) order by id) as document
  from batch
)
select
  (select count(*) from batch)::int as accounts,
  (select count(*) filter (where e.created) from requests r, postroom.enqueue_jobs(r.document) as e where r.document is not null)::int as created
