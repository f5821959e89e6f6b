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

-- Not validated: what an older release has let in may stay until retention.
alter domain postroom.payload drop constraint payload_check;
alter domain postroom.payload add constraint payload_is_an_object
  check (case when jsonb_typeof(value) = 'object' then true else postroom.refuse('payload', 'Input should be a valid dictionary') end)
  not valid;
alter domain postroom.payload add constraint payload_has_at_most_262144_bytes
  check (case when octet_length(value::text) <= 262144 then true else postroom.refuse('payload', 'has more than 262144 bytes') end)
  not valid;
alter domain postroom.payload drop constraint payload_nests_at_most_64_levels;
alter domain postroom.payload add constraint payload_nests_at_most_64_levels
  check (case when jsonb_path_exists(value, 'strict $.**{65}') then postroom.refuse('payload', 'nests more than 64 levels deep')
    else true end) not valid;

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
    execute format(
      'alter domain postroom.%1$I add constraint %2$I check (case'
      ' when length(value) < %3$s then postroom.refuse(%1$L, ''String should have at least 1 character'')'
      ' when length(value) > %4$s then postroom.refuse(%1$L, ''String should have at most %4$s characters'') else true end) not valid',
      bound.field, bound.field || '_is_bounded', bound.least, bound.most);
  end loop;
end
$$;

alter domain postroom.priority drop constraint priority_check;
alter domain postroom.priority add constraint priority_is_bounded check (case
  when value < -100 then postroom.refuse('priority', 'Input should be greater than or equal to -100')
  when value > 100 then postroom.refuse('priority', 'Input should be less than or equal to 100') else true end) not valid;
alter domain postroom.payload_version drop constraint payload_version_check;
alter domain postroom.payload_version add constraint payload_version_is_bounded check (case
  when value < 1 then postroom.refuse('payload_version', 'Input should be greater than or equal to 1')
  when value > 1000 then postroom.refuse('payload_version', 'Input should be less than or equal to 1000') else true end) not valid;
alter domain postroom.actor_type drop constraint actor_type_check;
alter domain postroom.actor_type add constraint actor_type_is_known check (case
  when value in ('user', 'system', 'api_key') then true
  else postroom.refuse('actor_type', 'Input should be ''user'', ''system'' or ''api_key''') end) not valid;
