-- name: find_person
-- A person's zone and quiet hours.
select u.zone, q.begins, q.ends from users u left join quiet_hours q on q.org_id = u.org_id and q.user_id = u.id
where u.org_id = %(org_id)s and u.id = %(user_id)s

-- name: list_contact_points
-- A person's addresses and devices, the oldest first.
select id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for
from contact_points
where org_id = %(org_id)s and user_id = %(user_id)s
  and (%(created_at)s::timestamptz is null or (created_at, id) > (%(created_at)s, %(contact_id)s::uuid))
order by created_at, id
limit %(limit)s

-- name: find_contact_point
-- One address, of a person's if one is named.
select id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for
from contact_points
where org_id = %(org_id)s and id = %(contact_id)s and (%(user_id)s::uuid is null or user_id = %(user_id)s)

-- name: find_contact_anywhere
-- One address of whichever org.
select id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for
from contact_points where id = %(contact_id)s

-- name: take_device
-- A device is one person's.
delete from contact_points
where org_id = %(org_id)s and channel = 'push' and address = %(address)s and user_id <> %(user_id)s
returning id

-- name: add_contact_point
-- A new address, or the one that is there. A device that signs in again is suppressed no more.
insert into contact_points as c (org_id, user_id, channel, address, verified_at)
select %(org_id)s, %(user_id)s, %(channel)s, %(address)s, case when %(is_verified)s then now() end
where (select count(*) from contact_points where org_id = %(org_id)s and user_id = %(user_id)s) < %(most)s
  or exists (select from contact_points where org_id = %(org_id)s and user_id = %(user_id)s and channel = %(channel)s and address = %(address)s)
on conflict (org_id, user_id, channel, address) do update set
  verified_at = coalesce(c.verified_at, excluded.verified_at),
  suppressed_at = case when c.channel <> 'push' then c.suppressed_at end,
  suppressed_for = case when c.channel <> 'push' then c.suppressed_for end
returning id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for

-- name: keep_contact_code
-- The code that is sent to an address; nothing within a while of the code before.
update contact_points set code_hash = %(code_hash)s, code_expires_at = now() + %(lasts)s, code_tries = 0
where org_id = %(org_id)s and id = %(contact_id)s and verified_at is null
  and (code_expires_at is null or code_expires_at < now() + %(lasts)s::interval - %(rests)s::interval)
returning id

-- name: try_contact_code
-- Counts the try, and verifies the address where the code is right and good.
update contact_points set
  code_tries = code_tries + 1,
  verified_at = case when code_hash = %(code_hash)s and code_expires_at > now() and code_tries < %(most_tries)s then now() end,
  code_hash = case when code_hash <> %(code_hash)s and code_tries + 1 < %(most_tries)s then code_hash end
where org_id = %(org_id)s and id = %(contact_id)s and verified_at is null
returning id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for

-- name: remove_contact_point
-- An address goes.
delete from contact_points where org_id = %(org_id)s and user_id = %(user_id)s and id = %(contact_id)s
returning id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for

-- name: suppress_contact_point
-- The first reason stays.
update contact_points set suppressed_at = now(), suppressed_for = %(reason)s
where org_id = %(org_id)s and id = %(contact_id)s and suppressed_at is null
returning id

-- name: allow_contact_point
-- Whatever suppressed the address is over.
update contact_points set suppressed_at = null, suppressed_for = null
where org_id = %(org_id)s and user_id = %(user_id)s and id = %(contact_id)s
returning id as contact_id, org_id, user_id, channel, address, created_at, verified_at, suppressed_at, suppressed_for

-- name: list_preferences
-- What a person has chosen.
select category, channel, choice, changed_at from preferences
where org_id = %(org_id)s and user_id = %(user_id)s
  and (%(category)s::text is null or (category, channel) > (%(category)s, %(channel)s::text))
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

-- name: find_quiet_hours
-- A person's quiet hours.
select begins, ends from quiet_hours where org_id = %(org_id)s and user_id = %(user_id)s

-- name: set_quiet_hours
-- One setting per person.
insert into quiet_hours (org_id, user_id, begins, ends) values (%(org_id)s, %(user_id)s, %(begins)s, %(ends)s)
on conflict (org_id, user_id) do update set begins = excluded.begins, ends = excluded.ends

-- name: remove_quiet_hours
-- Everything may come at any time.
delete from quiet_hours where org_id = %(org_id)s and user_id = %(user_id)s
