-- What the payloads of each version of a job type look like, so that SQL can check them (domain/payloads/shape.py makes it from the
-- payload class): {"<version>": {"closed": true, "fields": [{"name": ..., "kind": ..., ...}]}}. A shape that was published stays.
alter table job_types add column payload_shapes jsonb not null default '{}';

-- What is wrong with a value of a field; null when nothing is. In pydantic's words, which the other doors use.
create function postroom.misfit(field jsonb, given jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, public, pg_temp as $$
declare
  kind text := field ->> 'kind';
  found_type text := jsonb_typeof(given);
  words text := given #>> '{}';
  most text[];
begin
  if found_type = 'null' and (field -> 'nullable') = 'true' then
    return null;
  end if;
  case kind
    when 'uuid' then
      if found_type <> 'string' or postroom.canonical_uuid(words) is null then
        return 'Input should be a valid UUID';
      end if;
    when 'string' then
      if found_type <> 'string' then
        return 'Input should be a valid string';
      elsif length(words) < (field ->> 'least')::int then
        return format('String should have at least %s character%s', field ->> 'least', case field ->> 'least' when '1' then '' else 's' end);
      elsif length(words) > (field ->> 'most')::int then
        return format('String should have at most %s character%s', field ->> 'most', case field ->> 'most' when '1' then '' else 's' end);
      end if;
    when 'integer' then
      if found_type <> 'number' or words !~ '^-?[0-9]+$' then
        return 'Input should be a valid integer';
      end if;
    when 'digits' then  -- an integer that may come as text
      if not (found_type = 'number' and words ~ '^-?[0-9]+$' or found_type = 'string' and words ~ '^[0-9]{1,20}$') then
        return 'Input should be a valid integer';
      end if;
    when 'number' then
      if found_type <> 'number' then
        return 'Input should be a valid number';
      end if;
    when 'boolean' then
      if found_type <> 'boolean' then
        return 'Input should be a valid boolean';
      end if;
    when 'date' then
      if found_type <> 'string' or words !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' or not pg_input_is_valid(words, 'date') then
        return 'Input should be a valid date';
      end if;
    when 'datetime' then
      if found_type <> 'string' or words !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt _][0-9]{2}:[0-9]{2}' or not pg_input_is_valid(words, 'timestamptz')
      then
        return 'Input should be a valid datetime';
      end if;
    when 'enum' then
      if not (field -> 'values') @> jsonb_build_array(given) then
        most := array(select quote_literal(v) from jsonb_array_elements_text(field -> 'values') as v);
        return 'Input should be ' || concat_ws(' or ', nullif(array_to_string(most[: cardinality(most) - 1], ', '), ''), most[cardinality(most)]);
      end if;
    when 'array' then
      if found_type <> 'array' then
        return 'Input should be a valid list';
      end if;
    when 'object' then
      if found_type <> 'object' then
        return 'Input should be a valid dictionary';
      end if;
    else
      null;  -- anything
  end case;
  if kind in ('integer', 'number') and words::numeric < (field ->> 'least')::numeric then
    return 'Input should be greater than or equal to ' || (field ->> 'least');
  elsif kind in ('integer', 'number') and words::numeric > (field ->> 'most')::numeric then
    return 'Input should be less than or equal to ' || (field ->> 'most');
  end if;
  return null;
end
$$;

-- One spelling for each UUID, of those that Python's doors read: plain, without dashes, in braces, as a URN; null for what is none.
create function postroom.canonical_uuid(words text) returns text
language sql immutable strict set search_path = pg_catalog, public, pg_temp as $$
  select case
    when words ~* '^([0-9a-f]{32}|\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' then words::uuid::text
    when words ~ '^urn:uuid:[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then substr(words, 10)::uuid::text
  end
$$;

-- The first field of a payload that does not fit a shape, and why: `payload.<field>: <reason>`; null when all do.
create function postroom.payload_misfit(shape jsonb, payload jsonb) returns text
language plpgsql immutable set search_path = pg_catalog, public, pg_temp as $$
declare
  field jsonb;
  reason text;
begin
  for field in select jsonb_array_elements(shape -> 'fields') loop
    if payload ? (field ->> 'name') then
      reason := postroom.misfit(field, payload -> (field ->> 'name'));
    elsif (field -> 'required') = 'true' then
      reason := 'Field required';
    end if;
    if reason is not null then
      return format('payload.%s: %s', field ->> 'name', reason);
    end if;
  end loop;
  if (shape -> 'closed') = 'true' then
    return (
      select format('payload.%s: Extra inputs are not permitted', left(given, 200)) from jsonb_object_keys(payload) as given
      where given not in (select f ->> 'name' from jsonb_array_elements(shape -> 'fields') as f) limit 1);
  end if;
  return null;
end
$$;

-- The payload as its class would write it: UUIDs in one spelling, digits as a number, and the defaults of what is left out.
create function postroom.canonical_payload(shape jsonb, payload jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
  select payload || coalesce(jsonb_object_agg(f ->> 'name', case
      when not payload ? (f ->> 'name') then f -> 'default'
      when jsonb_typeof(payload -> (f ->> 'name')) <> 'string' then payload -> (f ->> 'name')
      when f ->> 'kind' = 'digits' then to_jsonb((payload ->> (f ->> 'name'))::numeric)
      else to_jsonb(coalesce(postroom.canonical_uuid(payload ->> (f ->> 'name')), payload ->> (f ->> 'name'))) end), '{}')
  from jsonb_array_elements(shape -> 'fields') as f
  where case when payload ? (f ->> 'name') then f ->> 'kind' in ('uuid', 'digits') else f ? 'default' end
$$;

-- Checks a payload of whom nobody has checked it, and returns {"payload": in its canonical form, "version": of its shape}. Raises PR002
-- with the field and the reason. A caller that names no version means the newest one whose shape fits. A version whose shape nobody
-- published is older than this table's column: it is taken as it is, in the canonical form of the newest.
create function postroom.accept_payload(type_name text, given_version integer, payload jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  of_type job_types;
  shapes jsonb;
  shape jsonb;
  version integer;
  problem text;
  other record;
  missing text;
begin
  select t.* into of_type from job_types t where t.name = type_name;
  shapes := of_type.payload_shapes;
  version := coalesce(given_version, of_type.payload_version);
  if payload is null or jsonb_typeof(payload) <> 'object' or octet_length(payload::text) > 262144
    or jsonb_path_exists(payload, 'strict $.**{65}')
  then
    perform postroom.refuse_payload(payload);
  elsif version < 1 then
    perform postroom.refuse('payload_version', 'Input should be greater than or equal to 1');
  elsif version > of_type.payload_version then
    perform postroom.refuse('payload_version', format('%s is newer than the fleet knows (%s)', version, of_type.payload_version));
  end if;
  shape := shapes -> version::text;
  problem := postroom.payload_misfit(shape, payload);
  if problem is not null and given_version is null then
    for other in select key::integer as number, value from jsonb_each(shapes) where key::integer < version order by key::integer desc loop
      if postroom.payload_misfit(other.value, payload) is null then
        version := other.number;
        shape := other.value;
        problem := null;
        exit;
      end if;
    end loop;
  end if;
  if problem is not null then
    raise exception '%', problem using errcode = 'PR002';
  end if;
  payload := postroom.canonical_payload(coalesce(shape, shapes -> of_type.payload_version::text), payload);
  if version = of_type.payload_version and of_type.unique_fields is not null and not payload ?& of_type.unique_fields then
    select f into missing from unnest(of_type.unique_fields) as f where not payload ? f limit 1;
    perform postroom.refuse('payload.' || missing, 'Field required');
  end if;
  return jsonb_build_object('payload', payload, 'version', version);
end
$$;
revoke execute on function postroom.misfit(jsonb, jsonb), postroom.canonical_uuid(text), postroom.payload_misfit(jsonb, jsonb),
  postroom.canonical_payload(jsonb, jsonb), postroom.accept_payload(text, integer, jsonb) from public;
