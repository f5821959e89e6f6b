-- The check of a payload by its type's published shape (job_types.payload_shapes; domain/payloads/shape.py makes it).
-- A field of a shape may have other names (domain/payloads/other_names.py): {"name": ..., "look_up": ...} under "others".

-- What is wrong with a value of a field; null when nothing is. In pydantic's words, which the other entry points use.
create or replace function postroom.misfit(field jsonb, given jsonb) returns text
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

-- One spelling for each UUID, of those that Python reads: plain, without dashes, in braces, as a URN; null for what is none.
create or replace function postroom.canonical_uuid(words text) returns text
language sql immutable strict set search_path = pg_catalog, public, pg_temp as $$
  select case
    when words ~* '^([0-9a-f]{32}|\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' then words::uuid::text
    when words ~ '^urn:uuid:[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' then substr(words, 10)::uuid::text
  end
$$;

-- The first field of a payload that does not fit a shape, and why: `payload.<field>: <reason>`; null when all do.
create or replace function postroom.payload_misfit(shape jsonb, payload jsonb) returns text
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
create or replace function postroom.canonical_payload(shape jsonb, payload jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
  select payload || coalesce(jsonb_object_agg(f ->> 'name', case
      when not payload ? (f ->> 'name') then f -> 'default'
      when jsonb_typeof(payload -> (f ->> 'name')) <> 'string' then payload -> (f ->> 'name')
      when f ->> 'kind' = 'digits' then to_jsonb((payload ->> (f ->> 'name'))::numeric)
      else to_jsonb(coalesce(postroom.canonical_uuid(payload ->> (f ->> 'name')), payload ->> (f ->> 'name'))) end), '{}')
  from jsonb_array_elements(shape -> 'fields') as f
  where case when payload ? (f ->> 'name') then f ->> 'kind' in ('uuid', 'digits') else f ? 'default' end
$$;

-- How a field's value is found by what another name says: postroom.look_up_<look-up>(…), each raises PR002 when it finds none. `own` is
-- the value that the payload gives under the field's own name, if any. Only rows of the org count, and of the account.
create or replace function postroom.checked_key(field text, given text) returns uuid
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
  if postroom.canonical_uuid(given) is null then
    perform postroom.refuse(field, 'Input should be a valid UUID');
  end if;
  return postroom.canonical_uuid(given)::uuid;
end
$$;

create or replace function postroom.look_up_account_of_user(for_org uuid, of_account uuid, field text, given text, own text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  key uuid := postroom.checked_key(field, given);
  answer text[] := array(
    select a.id::text from accounts a
    where a.org_id = for_org and a.user_id = key and a.status <> 'disconnected'
      and (own is null or a.id = postroom.canonical_uuid(own)::uuid)
    order by a.id limit 2);
begin
  if cardinality(answer) = 0 then
    perform postroom.refuse(field, case when own is null then 'names no user of the org who has a connected mailbox'
      else 'names a user who has another mailbox than account_id names' end);
  elsif cardinality(answer) > 1 then
    perform postroom.refuse(field, 'names a user who has several connected mailboxes: give account_id');
  end if;
  return answer[1];
end
$$;

create or replace function postroom.look_up_thread_of_email(for_org uuid, of_account uuid, field text, given text, own text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  key uuid := postroom.checked_key(field, given);
  answer text;
begin
  select e.gmail_thread_id into answer from emails e
  where e.org_id = for_org and e.id = key and e.account_id = of_account;
  if answer is null then
    perform postroom.refuse(field, 'names no e-mail of the account');
  end if;
  return answer;
end
$$;

create or replace function postroom.look_up_message_of_email(for_org uuid, of_account uuid, field text, given text, own text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  key uuid := postroom.checked_key(field, given);
  answer text;
begin
  select e.gmail_message_id into answer from emails e
  where e.org_id = for_org and e.id = key and e.account_id = of_account;
  if answer is null then
    perform postroom.refuse(field, 'names no e-mail of the account');
  end if;
  return coalesce(own, answer);  -- a caller may mean another message of the thread than the one that first asked
end
$$;

-- A message of the thread: our draft in it, which a deletion in history names, or one that is stored.
create or replace function postroom.look_up_thread_of_message(for_org uuid, of_account uuid, field text, given text, own text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  answer text;
begin
  select coalesce(
    (select e.gmail_thread_id from emails e where e.org_id = for_org and e.account_id = of_account and e.draft_message_id = given),
    (select m.gmail_thread_id from messages m where m.org_id = for_org and m.account_id = of_account and m.gmail_message_id = given))
  into answer;
  if answer is null then
    perform postroom.refuse(field, 'names no message of the account whose thread is known');
  end if;
  return answer;
end
$$;

create or replace function postroom.look_up_message_of_thread(for_org uuid, of_account uuid, field text, given text, own text) returns text
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  answer text;
begin
  if own is null then
    select m.gmail_message_id into answer from messages m
    where m.org_id = for_org and m.account_id = of_account and m.gmail_thread_id = given and m.direction = 'incoming'
    order by m.received_at desc, m.gmail_message_id desc limit 1;
    if answer is null then
      perform postroom.refuse(field, 'names no thread of the account in which a message has come in');
    end if;
    return answer;
  end if;
  if exists (select from messages m where m.org_id = for_org and m.account_id = of_account and m.gmail_message_id = own
      and m.gmail_thread_id <> given)
  then
    perform postroom.refuse(field, 'names another thread than the one of message_id');
  end if;
  return own;  -- a message that is not stored yet says its thread when the job fetches it
end
$$;

-- The payload under the fields' own names. Raises PR002 with the name that was given and the reason.
create or replace function postroom.own_names(shape jsonb, payload jsonb, for_org uuid) returns jsonb
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
  other record;
  own text;
  answer text;
  others text[] := '{}';
begin
  if jsonb_typeof(payload) is distinct from 'object' or not jsonb_path_exists(shape, '$.fields[*].others') then
    return payload;
  end if;
  for other in
    select f.field ->> 'name' as field, o.other ->> 'name' as name, o.other ->> 'look_up' as look_up, f.field ->> 'kind' as kind
    from jsonb_array_elements(shape -> 'fields') with ordinality as f (field, place)
    cross join lateral jsonb_array_elements(f.field -> 'others') with ordinality as o (other, place)
    where payload ? (o.other ->> 'name')
    order by f.place, o.place
  loop
    others := others || other.name;
    continue when jsonb_typeof(payload -> other.name) = 'null';
    own := payload ->> other.field;
    if other.look_up is null then
      answer := payload ->> other.name;
      if own is null then
        payload := payload || jsonb_build_object(other.field, payload -> other.name);
      elsif coalesce(postroom.canonical_uuid(own), own) <> coalesce(postroom.canonical_uuid(answer), answer) then
        perform postroom.refuse('payload.' || other.name, format('is another name of %s, which says something else', other.field));
      end if;
      continue;
    end if;
    if jsonb_typeof(payload -> other.name) <> 'string' then
      perform postroom.refuse('payload.' || other.name, 'Input should be a valid string');
    end if;
    execute format('select postroom.%I($1, $2, $3, $4, $5)', 'look_up_' || other.look_up) into answer
      using for_org, postroom.canonical_uuid(payload ->> 'account_id')::uuid, 'payload.' || other.name, payload ->> other.name, own;
    if own is null then
      payload := payload || jsonb_build_object(other.field, answer);
    elsif coalesce(postroom.canonical_uuid(own), own) <> answer then
      perform postroom.refuse('payload.' || other.name, format('stands for another %s than the payload names', other.field));
    end if;
  end loop;
  return payload - others;
end
$$;

-- postroom.own_names for an entry point that keeps a payload before it enqueues it; a tenant asks for its own org only.
create or replace function postroom.resolve_payload_names(shape jsonb, payload jsonb, for_org uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if postroom.is_tenant() and for_org is distinct from postroom.current_org() then
    raise exception 'org_id: a tenant may ask for its own org only' using errcode = '42501';
  end if;
  return postroom.own_names(shape, payload, for_org);
end
$$;
grant execute on function postroom.resolve_payload_names to postroom_ledger, postroom_tenant;

-- Checks a payload of whom nobody has checked it, and returns {"payload": in its canonical form, "version": of its shape}. Raises PR002
-- with the field and the reason. A caller that names no version means the newest one whose shape fits. Other names are looked up among
-- the rows of the org.
create or replace function postroom.accept_payload(for_org uuid, type_name text, given_version integer, payload jsonb) returns jsonb
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
declare
  of_type job_types;
  shapes jsonb;
  shape jsonb;
  version integer;
  problem text;
  other record;
  missing text;
  given jsonb := payload;
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
  payload := postroom.own_names(shape, given, for_org);
  problem := postroom.payload_misfit(shape, payload);
  if problem is not null and given_version is null then
    for other in select key::integer as number, value from jsonb_each(shapes) where key::integer < version order by key::integer desc loop
      if postroom.payload_misfit(other.value, given) is null then
        version := other.number;
        shape := other.value;
        payload := given;
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
