-- columns: reminder
id as reminder_id, org_id, user_id, title, body, starts_local, zone, rule, repeat_every_s, repeat_at_most, state, due_at, following_at,
  snoozed_until, repeats, occurrence, sent_at, created_at

-- name: lock_reminders_of_user
-- Lets nobody else add a reminder for this person until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('postroom reminders: ' || %(user_id)s::uuid, 0))

-- name: count_open_reminders
-- How many reminders of a person are to ring, counted up to a bound.
select count(*) as reminders from (
  select from reminders where org_id = %(org_id)s and user_id = %(user_id)s and due_at is not null limit %(most)s
) as counted

-- name: add_reminder
-- A new reminder.
insert into reminders (org_id, user_id, title, body, starts_local, zone, rule, repeat_every_s, repeat_at_most, state, due_at, following_at,
  snoozed_until, repeats, created_by)
values (%(org_id)s, %(user_id)s, %(title)s, %(body)s, %(starts_local)s, %(zone)s, %(rule)s, %(repeat_every_s)s, %(repeat_at_most)s, %(state)s,
  %(due_at)s, %(following_at)s, %(snoozed_until)s, %(repeats)s, %(created_by)s)
returning columns(reminder)

-- name: find_reminder
-- One reminder.
select columns(reminder) from reminders where id = %(reminder_id)s

-- name: take_reminder
-- One reminder, locked.
select columns(reminder) from reminders where id = %(reminder_id)s for no key update

-- name: list_reminders
-- An org's reminders, the newest first.
select columns(reminder) from reminders
where org_id = %(org_id)s and (%(after_reminder_id)s::uuid is null or id < %(after_reminder_id)s)
order by id desc limit %(limit)s

-- name: list_reminders_of_user
-- The same, of one person.
select columns(reminder) from reminders
where org_id = %(org_id)s and user_id = %(user_id)s and (%(after_reminder_id)s::uuid is null or id < %(after_reminder_id)s)
order by id desc limit %(limit)s

-- name: change_reminder
-- New words, times and course; a job of the number before is stale from now on.
update reminders set
  title = %(title)s, body = %(body)s, starts_local = %(starts_local)s, zone = %(zone)s, rule = %(rule)s,
  repeat_every_s = %(repeat_every_s)s, repeat_at_most = %(repeat_at_most)s, state = %(state)s, due_at = %(due_at)s,
  following_at = %(following_at)s, snoozed_until = %(snoozed_until)s, repeats = %(repeats)s, sent_at = %(sent_at)s,
  occurrence = occurrence + 1, changed_at = now()
where id = %(reminder_id)s
returning columns(reminder)

-- name: move_reminder_on
-- A reminder has rung; nothing where another job was quicker, or somebody has changed it.
update reminders set
  state = %(state)s, due_at = %(due_at)s, following_at = %(following_at)s, snoozed_until = %(snoozed_until)s, repeats = %(repeats)s,
  occurrence = occurrence + 1, sent_at = now(), changed_at = now()
where id = %(reminder_id)s and occurrence = %(occurrence)s and due_at is not null
returning id

-- name: give_reminder_up
-- One that has no other due time, and that nobody has changed since; a job that names no occurrence means the one that is due.
update reminders set
  state = 'canceled', due_at = null, following_at = null, snoozed_until = null, repeats = 0, occurrence = occurrence + 1, changed_at = now()
where org_id = %(org_id)s and state = 'queued' and following_at is null and %(payload)s ->> 'reminder_id' = id::text
  and coalesce((%(payload)s ->> 'occurrence')::integer, occurrence) = occurrence

-- name: remove_reminder
-- Forgets a reminder.
delete from reminders where id = %(reminder_id)s

-- name: list_due_reminders
-- Reminders whose time has come, the longest due first; what is locked is passed over, so that no lock keeps the others waiting.
select id as reminder_id, org_id from reminders
where state = 'pending' and due_at <= now() and org_id <> all (%(besides)s::uuid[])
order by due_at, id limit %(limit)s for no key update skip locked

-- name: queue_due_reminders
-- Takes reminders that are due still and that nobody has locked.
update reminders r set state = 'queued'
from (
  select id from reminders where id = any (%(reminder_ids)s::uuid[]) and state = 'pending' and due_at <= now() for no key update skip locked
) as due
where r.id = due.id
returning r.id as reminder_id, r.org_id, r.user_id, r.occurrence
