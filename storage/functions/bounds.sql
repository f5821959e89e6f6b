-- How large the fields of a job may be. Each is checked where a value comes in, by whatever entry point, and refused in the words that
-- the job contract uses (domain/jobs/contract.py).

-- Refuses a value. Volatile: PostgreSQL calls an immutable function of constants when it plans, and all would be refused.
create or replace function postroom.refuse(field text, reason text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  raise exception '%: %', field, reason using errcode = 'PR002';
end
$$;
grant execute on function postroom.refuse to postroom_ledger;

-- What is wrong with a value that a domain's one cheap check has found wrong: PostgreSQL makes each check and each function in it ready
-- anew for every statement that writes.
create or replace function postroom.refuse_length(field text, words text, most integer) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse(field, case when length(words) > most then format('String should have at most %s characters', most)
    else 'String should have at least 1 character' end);
end
$$;
grant execute on function postroom.refuse_length to postroom_ledger;

create or replace function postroom.refuse_number(field text, number integer, lowest integer, highest integer) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse(field, case when number < lowest then 'Input should be greater than or equal to ' || lowest
    else 'Input should be less than or equal to ' || highest end);
end
$$;
grant execute on function postroom.refuse_number to postroom_ledger;

create or replace function postroom.refuse_payload(payload jsonb) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse('payload', case
    when jsonb_typeof(payload) is distinct from 'object' then 'Input should be a valid dictionary'
    when jsonb_path_exists(payload, 'strict $.**{65}') then 'nests more than 64 levels deep'
    else 'has more than 262144 bytes' end);
end
$$;
grant execute on function postroom.refuse_payload to postroom_ledger;

-- The number of seconds, unless it is out of bounds; raises PR002 then.
create or replace function postroom.retry_seconds(field text, given integer) returns integer
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  if given not between 1 and 86400 then
    perform postroom.refuse_number(field, given, 1, 86400);
  end if;
  return given;
end
$$;

-- The nearest smallint: a number that the column cannot hold would be refused without the field's name, and its domain names it.
create or replace function postroom.within_smallint(value integer) returns integer
language sql immutable as $$
  select case when value is not null then greatest(-32768, least(32767, value)) end
$$;

-- The priority of a job: a tenant has the levels around the ordinary one for its own jobs, the fleet all of them. What the job contract
-- refuses is left as it is, for the column's domain to refuse.
create or replace function postroom.bounded_priority(given smallint, believes boolean) returns smallint
language sql immutable as $$
  select case when believes or given not between -100 and 100 then given else greatest(-10::smallint, least(10::smallint, given)) end
$$;

-- For how long a published job waits for its claim before the relay sends it again. A tenant's own jobs wait for an hour at most, the
-- longest that the fleet's setting allows.
create or replace function postroom.bounded_hint_timeout(given interval, believes boolean) returns interval
language sql immutable as $$
  select case when believes then given else greatest(interval '1 second', least(given, interval '1 hour')) end
$$;
