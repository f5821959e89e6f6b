-- columns: contact
c.id as contact_id, c.org_id, c.user_id, c.channel, c.address, c.created_at, c.verified_at, s.suppressed_at, s.suppressed_for

-- name: find_person
-- A person's zone and quiet hours.
select u.zone, q.begins, q.ends from users u left join quiet_hours q on q.org_id = u.org_id and q.user_id = u.id
where u.org_id = %(org_id)s and u.id = %(user_id)s

-- name: find_org_of_person
-- Whose person it is; nobody's while the person is being erased.
select org_id from users where id = %(user_id)s and erasing_since is null

-- name: list_contact_points
-- A person's addresses and devices, the oldest first.
select columns(contact) from contact_points c
left join suppressions s on s.org_id = c.org_id and s.channel = c.channel and s.address_hash = c.address_hash
where c.org_id = %(org_id)s and c.user_id = %(user_id)s
  and (%(after_created_at)s::timestamptz is null or (c.created_at, c.id) > (%(after_created_at)s, %(after_contact_id)s::uuid))
order by c.created_at, c.id
limit %(limit)s

-- name: find_contact_point
-- One address, of a person's if one is named.
select columns(contact) from contact_points c
left join suppressions s on s.org_id = c.org_id and s.channel = c.channel and s.address_hash = c.address_hash
where c.org_id = %(org_id)s and c.id = %(contact_id)s and (%(user_id)s::uuid is null or c.user_id = %(user_id)s)

-- name: list_contacts_of_address
-- Whose address it is, of an org's people.
select columns(contact) from contact_points c
left join suppressions s on s.org_id = c.org_id and s.channel = c.channel and s.address_hash = c.address_hash
where c.org_id = %(org_id)s and c.channel = %(channel)s and c.address_hash = postroom.address_hash(%(org_id)s, %(channel)s, %(address)s)
order by c.created_at, c.id limit %(limit)s

-- name: take_device
-- A device is one person's.
delete from contact_points
where org_id = %(org_id)s and channel = 'push' and user_id <> %(user_id)s
  and address_hash = postroom.address_hash(%(org_id)s, 'push', %(address)s)
returning id

-- name: add_contact_point
-- A new address, or the one that is there.
insert into contact_points as c (org_id, user_id, channel, address, verified_at)
select %(org_id)s, %(user_id)s, %(channel)s, %(address)s, case when %(is_verified)s then now() end
where (select count(*) from contact_points where org_id = %(org_id)s and user_id = %(user_id)s) < %(most)s
  or exists (select from contact_points where org_id = %(org_id)s and user_id = %(user_id)s and channel = %(channel)s
    and address_hash = postroom.address_hash(%(org_id)s, %(channel)s, %(address)s))
on conflict (org_id, user_id, channel, address_hash) do update set verified_at = coalesce(c.verified_at, excluded.verified_at)
returning c.id as contact_id

-- name: keep_contact_code
-- The code that is sent to an address; nothing within a while of the code before, and nothing past a day's codes.
insert into address_codes as k (org_id, channel, address_hash, code_hash, expires_at)
select org_id, channel, address_hash, %(code_hash)s, now() + %(lasts)s from contact_points
where org_id = %(org_id)s and id = %(contact_id)s and verified_at is null
on conflict (org_id, channel, address_hash) do update set
  code_hash = excluded.code_hash, expires_at = excluded.expires_at, tries = 0,
  codes = case when k.counted_from > now() - interval '1 day' then k.codes + 1 else 1 end,
  counted_from = case when k.counted_from > now() - interval '1 day' then k.counted_from else now() end
where k.expires_at < now() + %(lasts)s::interval - %(rests)s::interval
  and (k.codes < %(most_a_day)s or k.counted_from <= now() - interval '1 day')
returning codes

-- name: try_contact_code
-- Counts the try, and verifies the address where the code is right and good.
with tried as (
  update address_codes k set tries = tries + 1,
    code_hash = case when code_hash <> %(code_hash)s and tries + 1 < %(most_tries)s then code_hash end
  from contact_points c
  where c.org_id = %(org_id)s and c.id = %(contact_id)s and c.verified_at is null
    and k.org_id = c.org_id and k.channel = c.channel and k.address_hash = c.address_hash
  returning c.id, old.code_hash = %(code_hash)s and old.expires_at > now() and old.tries < %(most_tries)s as is_right
)
update contact_points c set verified_at = now() from tried
where tried.is_right and c.org_id = %(org_id)s and c.id = tried.id
returning c.id

-- name: remove_contact_point
-- An address goes.
delete from contact_points where org_id = %(org_id)s and user_id = %(user_id)s and id = %(contact_id)s

-- name: suppress_address_of_delivery
-- The first reason stays.
insert into suppressions (org_id, channel, address_hash, suppressed_for)
select org_id, channel, address_hash, %(reason)s from deliveries
where org_id = %(org_id)s and id = %(delivery_id)s and address_hash is not null
on conflict do nothing
returning suppressed_at

-- name: suppress_address
-- The same, of an address by itself.
insert into suppressions (org_id, channel, address_hash, suppressed_for)
values (%(org_id)s, %(channel)s, postroom.address_hash(%(org_id)s, %(channel)s, %(address)s), %(reason)s)
on conflict do nothing

-- name: lift_suppression
-- Whatever suppressed the address is over.
delete from suppressions s using contact_points c
where c.org_id = %(org_id)s and c.id = %(contact_id)s
  and s.org_id = c.org_id and s.channel = c.channel and s.address_hash = c.address_hash

-- name: list_preferences
-- What a person has chosen.
select category, channel, choice, changed_at from preferences
where org_id = %(org_id)s and user_id = %(user_id)s
  and (%(after_category)s::text is null or (category, channel) > (%(after_category)s, %(after_channel)s::text))
order by category, channel
limit %(limit)s

-- name: choose_preference
-- A choice, in place of an earlier one.
insert into preferences as p (org_id, user_id, category, channel, choice)
select %(org_id)s, %(user_id)s, %(category)s, %(channel)s, %(choice)s
where (select count(*) from preferences where org_id = %(org_id)s and user_id = %(user_id)s) < %(most)s
  or exists (select from preferences where org_id = %(org_id)s and user_id = %(user_id)s and category = %(category)s and channel = %(channel)s)
on conflict (org_id, user_id, category, channel) do update set
  choice = excluded.choice,
  changed_at = case when p.choice = excluded.choice then p.changed_at else now() end
returning changed_at

-- name: set_quiet_hours
-- One setting per person.
insert into quiet_hours (org_id, user_id, begins, ends) values (%(org_id)s, %(user_id)s, %(begins)s, %(ends)s)
on conflict (org_id, user_id) do update set begins = excluded.begins, ends = excluded.ends

-- name: remove_quiet_hours
-- Everything may come at any time.
delete from quiet_hours where org_id = %(org_id)s and user_id = %(user_id)s
