-- Other names of payload fields (domain/payloads/other_names.py): a shape's field may list {"name": ..., "look_up": ...} under "others".

-- How a field's value is found by what another name says: postroom.look_up_<look-up>(…), each raises PR002 when it finds none. `own` is
-- the value that the payload gives under the field's own name, if any. Only rows of the org count, and of the account.
create function postroom.checked_key(field text, given text) returns uuid
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
  if postroom.canonical_uuid(given) is null then
    perform postroom.refuse(field, 'Input should be a valid UUID');
  end if;
  return postroom.canonical_uuid(given)::uuid;
end
$$;

create function postroom.look_up_account_of_user(for_org uuid, of_account uuid, field text, given text, own text) returns text
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

create function postroom.look_up_thread_of_email(for_org uuid, of_account uuid, field text, given text, own text) returns text
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

create function postroom.look_up_message_of_email(for_org uuid, of_account uuid, field text, given text, own text) returns text
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
create function postroom.look_up_thread_of_message(for_org uuid, of_account uuid, field text, given text, own text) returns text
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

create function postroom.look_up_message_of_thread(for_org uuid, of_account uuid, field text, given text, own text) returns text
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
create function postroom.own_names(shape jsonb, payload jsonb, for_org uuid) returns jsonb
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

-- postroom.own_names for a door that keeps a payload before it enqueues it; a tenant asks for its own org only.
create function postroom.resolve_payload_names(shape jsonb, payload jsonb, for_org uuid) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if postroom.is_tenant() and for_org is distinct from postroom.current_org() then
    raise exception 'org_id: a tenant may ask for its own org only' using errcode = '42501';
  end if;
  return postroom.own_names(shape, payload, for_org);
end
$$;

drop function postroom.accept_payload(text, integer, jsonb);
-- accept_payload (0012_shapes.sql) with the org, among whose rows names are looked up.
create function postroom.accept_payload(for_org uuid, type_name text, given_version integer, payload jsonb) returns jsonb
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

-- The two functions that enqueue hand the org over. Only their call changes: the rest stays as the last migration before this one wrote it.
do $$
declare
  door record;
  was text;
  becomes text;
begin
  for door in
    select * from (values
      ('postroom.enqueue_job', 'postroom.accept_payload(of_type.name,', 'postroom.accept_payload(for_org, of_type.name,'),
      ('postroom.enqueue_jobs', 'postroom.accept_payload(t.name,', 'postroom.accept_payload(r.org_id, t.name,')) as d (name, call, with_org)
  loop
    was := pg_get_functiondef(door.name::regproc);
    becomes := replace(was, door.call, door.with_org);
    if becomes = was then
      raise exception '% does not call % any more: write the call with the org there', door.name, door.call;
    end if;
    execute becomes;
  end loop;
end
$$;

revoke execute on function postroom.checked_key, postroom.look_up_thread_of_message, postroom.look_up_account_of_user, postroom.look_up_thread_of_email, postroom.look_up_message_of_email,
  postroom.look_up_message_of_thread, postroom.own_names, postroom.resolve_payload_names, postroom.accept_payload from public;
grant execute on function postroom.resolve_payload_names to postroom_ledger, postroom_tenant;
