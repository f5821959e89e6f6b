-- Notifications: how they are asked for, and a person's own address.

-- Asks for a notification in the caller's transaction. What is refused is written into the audit log, and the caller's writes go on: nothing
-- but a caller who acts for another org, and a database that cannot go on, raises here.
-- Returns its id, whether it is new (the same recipient, template, data and bucket within the time of the key are one), and why it was refused.
create or replace function postroom.notify(
  for_org uuid, recipient uuid, by_template text, given_data jsonb default '{}', in_bucket text default '', by_channels text[] default null,
  by_actor_type text default 'system', by_actor text default 'sql', given_request text default null,
  given_correlation text default null, to_contact uuid default null, for_time timestamptz default null
)
returns table (notification_id uuid, created boolean, refusal text)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp
-- Somebody may have locked the key, or the recipient.
set lock_timeout = '500ms' as $$
#variable_conflict use_column
declare
  new_id uuid := uuidv7();
  origin jsonb := jsonb_build_object('actor_type', by_actor_type, 'actor_id', by_actor, 'request_id', given_request, 'correlation_id', given_correlation);
  hash text;
  made record;
  code text;
  words text;
  facts jsonb;
  project text := coalesce(current_setting('postroom.project', true), '');
  org_seal text := coalesce(current_setting('postroom.org_seal', true), '');
begin
  if postroom.is_tenant() then
    if for_org is distinct from postroom.current_org() then
      raise exception 'org_id: a tenant may notify people of its own org only' using errcode = '42501';
    end if;
    origin := postroom.current_origin();
  end if;
  begin
    perform postroom.check_notification(for_org, recipient, by_template, given_data, in_bucket, by_channels, to_contact);
    hash := encode(sha256(convert_to(given_data::text, 'UTF8')), 'hex');
    -- Its jobs are the org's and of no project: a digest has words of several.
    if project <> '' then
      perform set_config('postroom.project', '', true), set_config('postroom.org_seal', postroom.seal_of(for_org::text), true);
    end if;
    select * into made from postroom.enqueue_job('notifications.deliver', for_org, jsonb_build_object('notification_id', new_id,
      'recipient_id', recipient, 'template_name', by_template, 'data_hash', hash, 'bucket', in_bucket),
      by_actor_type => origin ->> 'actor_type', by_actor => origin ->> 'actor_id', given_request => origin ->> 'request_id',
      given_correlation => origin ->> 'correlation_id');
    if made.created then
      insert into notifications (id, org_id, user_id, template, data, data_hash, bucket, channels, contact_id, due_at)
      values (new_id, for_org, recipient, by_template, given_data, hash, in_bucket, by_channels, to_contact, for_time);
    else
      select n.id into new_id from notifications n
      where n.org_id = for_org and n.user_id = recipient and n.template = by_template and n.data_hash = hash and n.bucket = in_bucket
      order by n.asked_at desc limit 1;
      if not found then
        new_id := uuidv7();
        perform postroom.refuse('recipient_id', 'another job holds the key of this notification');
      end if;
    end if;
    if project <> '' then
      perform set_config('postroom.project', project, true), set_config('postroom.org_seal', org_seal, true);
    end if;
    return query select new_id, made.created, null::text;
    return;
  exception when others then
    get stacked diagnostics code = returned_sqlstate, words = message_text;
  end;
  -- Words of ours name a field and a reason; those of others may quote what nobody may read.
  words := case when code = 'PR002' then left(words, 300) else 'the database refused it: ' || code end;
  -- Somebody who is not there may have been erased, and is not named anew.
  recipient := (select u.id from users u where u.org_id = for_org and u.id = recipient and u.erasing_since is null);
  facts := jsonb_build_object('recipient_id', recipient, 'template', left(by_template, 100), 'reason', words);
  if postroom.carries_secret(facts) is not null then
    words := 'the database refused it: ' || code;
    facts := jsonb_build_object('recipient_id', recipient, 'reason', words);
  end if;
  insert into audit_entries (event, org_id, project_id, actor_type, actor_id, request_id, correlation_id, job_id, data)
  values ('notification.refused', for_org, nullif(project, '')::uuid, origin ->> 'actor_type', origin ->> 'actor_id', coalesce(origin ->> 'request_id', new_id::text),
    coalesce(origin ->> 'correlation_id', origin ->> 'request_id', new_id::text), (origin ->> 'job_id')::uuid, facts);
  return query select null::uuid, false, words;
end
$$;
grant execute on function postroom.notify to postroom_ledger, postroom_tenant;

-- Refuses a notification that could not be delivered, by its field.
create or replace function postroom.check_notification(
  for_org uuid, recipient uuid, by_template text, given_data jsonb, in_bucket text, by_channels text[], to_contact uuid
)
returns void language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  if not exists (select from users u where u.org_id = for_org and u.id = recipient and u.erasing_since is null) then
    perform postroom.refuse('recipient_id', 'names nobody of the org');
  elsif by_template is null or not (starts_with(by_template, 'postroom.')
    or exists (select from notification_templates t where t.org_id = for_org and t.name = by_template))
  then
    perform postroom.refuse('template', 'the org has no template of this name');
  elsif jsonb_typeof(given_data) is distinct from 'object' or jsonb_path_exists(given_data, 'strict $.**{33}') then
    perform postroom.refuse('data', 'is no JSON object of at most 32 levels');
  elsif octet_length(given_data::text) > 16384 then
    perform postroom.refuse('data', format('has %s bytes, and may have 16384', octet_length(given_data::text)));
  elsif in_bucket is null or length(in_bucket) > 200 then
    perform postroom.refuse('bucket', 'has more than 200 characters');
  elsif cardinality(by_channels) = 0 or not by_channels <@ array['email', 'sms', 'push', 'inbox'] then
    perform postroom.refuse('channels', 'are email, sms, push and inbox');
  elsif to_contact is not null
    and not exists (select from contact_points c where c.org_id = for_org and c.user_id = recipient and c.id = to_contact)
  then
    perform postroom.refuse('contact_id', 'names no address of the recipient');
  end if;
end
$$;

-- What stands for an address of an org where the address itself may not stay: a hash under the org's key. The key is of the database and
-- not of the settings, for those of the settings are replaced, and each suppression would go with them.
create or replace function postroom.address_hash(for_org uuid, for_channel text, for_address text) returns bytea
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if not exists (select from address_keys k where k.org_id = for_org) then
    insert into address_keys (org_id, key) values (for_org, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) on conflict do nothing;
  end if;
  return postroom.known_address_hash(for_org, for_channel, for_address);
end
$$;
grant execute on function postroom.address_hash to postroom_ledger;

-- The same for an org that has a key; else null, for then it has no hash of any address.
create or replace function postroom.known_address_hash(for_org uuid, for_channel text, for_address text) returns bytea
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  return (
    select sha256(k.key || sha256(k.key || convert_to(for_channel || ':' || for_address, 'UTF8'))) from address_keys k where k.org_id = for_org);
end
$$;
grant execute on function postroom.known_address_hash to postroom_ledger;

create or replace function postroom.hash_contact_address() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
  new.address_hash := postroom.address_hash(new.org_id, new.channel, new.address);
  return new;
end
$$;
create or replace trigger contact_points_have_a_hash before insert on contact_points
  for each row execute function postroom.hash_contact_address();

-- A person's own address is one to write to: who adds a person to an org answers for it. A person who comes from another cell brings it along.
create or replace function postroom.keep_own_address() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if postroom.is_moving() then
    return null;
  end if;
  insert into contact_points (org_id, user_id, channel, address, verified_at) values (new.org_id, new.id, 'email', new.email, now())
  on conflict do nothing;
  return null;
end
$$;
create or replace trigger users_have_an_address after insert on users for each row execute function postroom.keep_own_address();

-- The words of an e-mail go with its delivery, and so with its person.
create or replace function postroom.forget_order_of_delivery() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  delete from email_orders where id = old.id;
  return null;
end
$$;
create or replace trigger deliveries_take_their_orders_along after delete on deliveries
  for each row when (old.channel = 'email') execute function postroom.forget_order_of_delivery();

-- The end-of-job hook of the types that send: a delivery whose job has ended without a word of it says why, until the job is replayed.
-- Where the call's end is not known, nobody knows of the delivery either, until a receipt comes. A job that names a delivery by another
-- channel says nothing of it.
drop function if exists postroom.notification_job_ended(jsonb);
create function postroom.notification_job_ended(facts jsonb) returns void
language plpgsql as $$
begin
  if facts ->> 'state' = 'succeeded' then
    return;
  end if;
  with ended as (
    update public.deliveries d set
      state = case when facts ->> 'error_code' = 'uncertain' then 'unknown' else 'failed' end,
      reason = left(coalesce(facts ->> 'error_code', facts ->> 'state'), 300), changed_at = now()
    from public.jobs j
    where j.id = (facts ->> 'job_id')::uuid and d.id = (j.payload ->> 'delivery_id')::uuid and d.org_id = j.org_id and d.state = 'queued'
      and j.job_type = 'notifications.send_' || d.channel
    returning d.id
  )
  update public.email_orders o set
    state = facts ->> 'state', error = jsonb_build_object('code', facts ->> 'error_code'), ended_at = (facts ->> 'finished_at')::timestamptz
  from ended where o.id = ended.id and o.state = 'queued';
end
$$;
call postroom.adopt_end_hook('postroom.notification_job_ended(jsonb)');
