-- How large the fields of a job may be. Each is checked where a value comes in, whatever the door, and refused in the words that the
-- job contract uses (domain/jobs/contract.py).

-- Volatile: PostgreSQL calls an immutable one of constants when it plans, and all would be refused.
create function postroom.refuse(field text, reason text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  raise exception '%: %', field, reason using errcode = 'PR002';
end
$$;
revoke execute on function postroom.refuse(text, text) from public;
grant execute on function postroom.refuse(text, text) to postroom_ledger;

-- What is wrong with a value that a domain's one cheap check has found wrong: PostgreSQL makes each check and each function in it ready
-- anew for every statement that writes.
create function postroom.refuse_length(field text, words text, most integer) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse(field, case when length(words) > most then format('String should have at most %s characters', most)
    else 'String should have at least 1 character' end);
end
$$;
create function postroom.refuse_number(field text, number integer, lowest integer, highest integer) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse(field, case when number < lowest then 'Input should be greater than or equal to ' || lowest
    else 'Input should be less than or equal to ' || highest end);
end
$$;
create function postroom.refuse_payload(payload jsonb) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
  return postroom.refuse('payload', case
    when jsonb_typeof(payload) is distinct from 'object' then 'Input should be a valid dictionary'
    when jsonb_path_exists(payload, 'strict $.**{65}') then 'nests more than 64 levels deep'
    else 'has more than 262144 bytes' end);
end
$$;
revoke execute on function postroom.refuse_length(text, text, integer), postroom.refuse_number(text, integer, integer, integer),
  postroom.refuse_payload(jsonb) from public;
grant execute on function postroom.refuse_length(text, text, integer), postroom.refuse_number(text, integer, integer, integer),
  postroom.refuse_payload(jsonb) to postroom_ledger;

-- Not validated: what an older release has let in may stay until retention.
alter domain postroom.payload drop constraint payload_check;
alter domain postroom.payload drop constraint payload_nests_at_most_64_levels;
alter domain postroom.payload add constraint payload_is_bounded check (case
  when jsonb_typeof(value) = 'object' and octet_length(value::text) <= 262144 and not jsonb_path_exists(value, 'strict $.**{65}') then true
  else postroom.refuse_payload(value) end) not valid;

do $$
declare
  bound record;
begin
  for bound in
    select * from (values
      ('job_type', 1, 100), ('idempotency_key', 1, 400), ('actor_id', 1, 200), ('request_id', 1, 200), ('correlation_id', 1, 200),
      ('traceparent', 0, 200)) as b (field, least, most)
  loop
    execute format('alter domain postroom.%I drop constraint %I', bound.field, bound.field || '_check');
    -- A NULL has no length, and passes.
    execute format(
      'alter domain postroom.%1$I add constraint %2$I check (case when length(value) not between %3$s and %4$s'
      ' then postroom.refuse_length(%1$L, value, %4$s) else true end) not valid',
      bound.field, bound.field || '_is_bounded', bound.least, bound.most);
  end loop;
end
$$;

alter domain postroom.priority drop constraint priority_check;
alter domain postroom.priority add constraint priority_is_bounded check (case
  when value not between -100 and 100 then postroom.refuse_number('priority', value, -100, 100) else true end) not valid;
alter domain postroom.payload_version drop constraint payload_version_check;
alter domain postroom.payload_version add constraint payload_version_is_bounded check (case
  when value not between 1 and 1000 then postroom.refuse_number('payload_version', value, 1, 1000) else true end) not valid;
alter domain postroom.actor_type drop constraint actor_type_check;
alter domain postroom.actor_type add constraint actor_type_is_known check (case
  when value not in ('user', 'system', 'api_key')
  then postroom.refuse('actor_type', 'Input should be ''user'', ''system'' or ''api_key''') else true end) not valid;

-- Of the checks for secrets: ids, and most other values, are made of characters that make no secret (domain/secrets.py), which is
-- told in a third of the time.
do $$
declare
  field text;
begin
  foreach field in array array['idempotency_key', 'actor_id', 'request_id', 'correlation_id'] loop
    execute format('alter domain postroom.%I drop constraint carries_no_secret', field);
    execute format(
      'alter domain postroom.%1$I add constraint carries_no_secret check (case'
      ' when value !~ ''[^0-9a-fhijl-wyz-]'' then true'
      ' when postroom.looks_secret(value) then postroom.refuse_secret_as(%1$L, value) else true end) not valid', field);
  end loop;
end
$$;
