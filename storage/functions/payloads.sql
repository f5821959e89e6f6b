-- The check of payloads that no class has checked: of SQL callers, of tenants, and of types that a process does not know. It goes by the
-- shape that workers publish (job_types.payload_shapes; domain/payloads/shape.py). What fits no deeper ends as a failed job.

-- A payload as a shape wants it: each UUID, number and instant in one spelling, and the defaults of what is left out. `misfit` is null when it fits,
-- and else says `payload.<field>: <reason>`.
create or replace function postroom.fit_payload(shape jsonb, inout payload jsonb, out misfit text)
language plpgsql immutable set search_path = pg_catalog, public, pg_temp as $$
declare
  name text;
  field jsonb;
  words text;
begin
  if (shape -> 'closed')::boolean then
    select format('payload.%s: is no field%s', left(n, 200), ': give ' || (shape -> 'others' ->> n)) into misfit
    from jsonb_object_keys(payload) as n where not shape -> 'fields' ? n limit 1;
  end if;
  for name, field in select f.key, f.value from jsonb_each(shape -> 'fields') as f where misfit is null loop
    words := payload ->> name;
    if not payload ? name then
      if field ? 'required' then
        misfit := format('payload.%s: is required', name);
      elsif field ? 'default' then
        payload := payload || jsonb_build_object(name, field -> 'default');
      end if;
    elsif not field -> 'types' ? jsonb_typeof(payload -> name) then
      misfit := format('payload.%s: is a JSON %s; may be: %s', name, jsonb_typeof(payload -> name), field ->> 'types');
    elsif words is not null and field ->> 'spelling' = 'uuid' then
      words := regexp_replace(words, '^urn:uuid:', '');
      if pg_input_is_valid(words, 'uuid') then
        payload := payload || jsonb_build_object(name, words::uuid);
      else
        misfit := format('payload.%s: is no uuid', name);
      end if;
    elsif words is not null and field ->> 'spelling' = 'instant' then
      words := upper(replace(words, ',', '.') collate "C");
      if words !~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)$' or not pg_input_is_valid(words, 'timestamptz') then
        misfit := format('payload.%s: is no RFC 3339 time with an offset', name);
      else
        -- As pydantic writes an instant in UTC: digits behind the sixth are cut off, and a fraction of zero is left out.
        words := to_char(regexp_replace(words, '(\.\d{6})\d+', '\1')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
        payload := payload || jsonb_build_object(name, replace(words, '.000000Z', 'Z'));
      end if;
    elsif field ->> 'spelling' = 'number' and words ~ '^[0-9]{1,20}$' then
      payload := payload || jsonb_build_object(name, words::numeric);
    end if;
    exit when misfit is not null;
  end loop;
end
$$;

-- Checks a payload, and returns {"payload": as its shape wants it, "version": of the shape}; raises PR002 with the field and the reason. A
-- caller that names no version means the oldest one, as `OLDEST_VERSION` of domain/jobs/contract.py says.
create or replace function postroom.accept_payload(type_name text, given_version integer, payload jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  newest integer;
  shapes jsonb;
  version integer := coalesce(given_version, 1);
  fitted record;
begin
  select t.payload_version, t.payload_shapes into newest, shapes from job_types t where t.name = type_name;
  if payload is null or jsonb_typeof(payload) <> 'object' or octet_length(payload::text) > 262144
    or jsonb_path_exists(payload, 'strict $.**{65}')
  then
    perform postroom.refuse_payload(payload);
  elsif version < 1 then
    perform postroom.refuse('payload_version', 'Input should be greater than or equal to 1');
  elsif version > newest then
    perform postroom.refuse('payload_version', format('%s is newer than the fleet knows (%s)', version, newest));
  end if;
  if shapes ? version::text then
    fitted := postroom.fit_payload(shapes -> version::text, payload);
    if fitted.misfit is not null then
      raise exception '%', fitted.misfit using errcode = 'PR002';
    end if;
    payload := fitted.payload;
  end if;  -- else nobody has published this version's shape
  return jsonb_build_object('payload', payload, 'version', version);
end
$$;
