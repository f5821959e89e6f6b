-- E-mail that services send: the words of an order, the SQL entry point, and what becomes of an order whose job has ended.

-- Takes in the words of a mail and returns the order's id. The order of a delivery has its id, and the first words stay. Its id is made of key
-- and words where the caller has named a key: the request that comes again finds its order, and another request with the key is another
-- order, which the ledger refuses.
create or replace function postroom.keep_email_order(of_org uuid, email jsonb, under_key text default null, of_delivery uuid default null)
returns uuid language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  order_id uuid := coalesce(of_delivery, case when under_key is null then uuidv7()
    else left(encode(sha256(convert_to(of_org || ' ' || under_key || ' ' || email::text, 'UTF8')), 'hex'), 32)::uuid end);
begin
  insert into email_orders (id, org_id, words, reference, is_notification)
  values (order_id, of_org, email, left(email ->> 'reference', 100), of_delivery is not null)
  on conflict (id) do nothing;
  return order_id;
end
$$;
grant execute on function postroom.keep_email_order to postroom_ledger, postroom_tenant;

-- The SQL entry point: keeps a mail's words and enqueues their job, inside the caller's transaction; returns the order's id. `email` is
-- {"to": ..., "subject": ..., "text": ...}, as every other entry point takes it; what does not fit fails the job, with field and reason.
create or replace function postroom.send_email(
  org_id uuid, email jsonb, run_at timestamptz default null, priority integer default 0, idempotency_key text default null,
  expires_at timestamptz default null, max_retries integer default null, actor_type text default 'system', actor_id text default 'sql',
  request_id text default null, correlation_id text default null
) returns uuid
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  order_id uuid;
begin
  if coalesce(jsonb_typeof(email), 'null') <> 'object' then
    raise exception 'email: is no JSON object' using errcode = 'PR002';
  end if;
  if octet_length(email::text) > 262144 then
    raise exception 'email: has more than 262144 bytes' using errcode = 'PR002';
  end if;
  if max_retries not between 0 and 99 then
    raise exception 'max_retries: must be from 0 to 99' using errcode = 'PR002';
  end if;
  order_id := postroom.keep_email_order(org_id, email, idempotency_key);
  perform postroom.enqueue(
    'email.send', org_id, jsonb_build_object('order_id', order_id), run_at => run_at, priority => priority,
    idempotency_key => idempotency_key, expires_at => expires_at, max_attempts => max_retries + 1, actor_type => actor_type,
    actor_id => actor_id, request_id => request_id, correlation_id => correlation_id);
  return order_id;
end
$$;
grant execute on function postroom.send_email to postroom_ledger;

-- The end-of-job hook of email.send: an order whose job has ended without sending says so.
drop function if exists postroom.email_job_ended(jsonb);
create function postroom.email_job_ended(facts jsonb) returns void
language plpgsql as $$
begin
  update public.email_orders o set
    state = facts ->> 'state',
    error = jsonb_strip_nulls(jsonb_build_object('code', facts ->> 'error_code', 'reason', left(facts ->> 'reason', 1000))),
    ended_at = (facts ->> 'finished_at')::timestamptz
  from public.jobs j
  where j.id = (facts ->> 'job_id')::uuid and o.id = (j.payload ->> 'order_id')::uuid and o.state = 'queued';
end
$$;
call postroom.adopt_end_hook('postroom.email_job_ended(jsonb)');
