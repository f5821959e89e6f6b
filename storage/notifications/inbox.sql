-- name: add_inbox_item
-- The next number of the person's inbox, whose row is locked by it, and the item. Who listens hears of it after the commit.
with known as (
  select from inbox_items where org_id = %(org_id)s and notification_id = %(notification_id)s
), numbered as (
  insert into inboxes as x (org_id, user_id, last_seq) select %(org_id)s, %(user_id)s, 1 where not exists (select from known)
  on conflict (org_id, user_id) do update set last_seq = x.last_seq + 1
  returning last_seq
), added as (
  insert into inbox_items (org_id, user_id, seq, notification_id, category, title, body, link)
  select %(org_id)s, %(user_id)s, last_seq, %(notification_id)s, %(category)s, %(title)s, %(body)s, %(link)s from numbered
  returning seq
)
select seq, pg_notify('postroom_inbox', %(user_id)s::text) from added

-- name: list_inbox
-- The newest first.
select seq, org_id, user_id, notification_id, category, title, body, link, created_at, read_at from inbox_items
where org_id = %(org_id)s and user_id = %(user_id)s and (%(after_seq)s::bigint is null or seq < %(after_seq)s)
order by seq desc limit %(limit)s

-- name: list_unread_items
-- The same of what is unread.
select seq, org_id, user_id, notification_id, category, title, body, link, created_at, read_at from inbox_items
where org_id = %(org_id)s and user_id = %(user_id)s and read_at is null and (%(after_seq)s::bigint is null or seq < %(after_seq)s)
order by seq desc limit %(limit)s

-- name: list_inbox_after
-- What follows a number.
select seq, org_id, user_id, notification_id, category, title, body, link, created_at, read_at from inbox_items
where org_id = %(org_id)s and user_id = %(user_id)s and seq > %(seq)s
order by seq limit %(limit)s

-- name: find_newest_item
-- The newest number.
select coalesce(max(last_seq), 0) as seq from inboxes where org_id = %(org_id)s and user_id = %(user_id)s

-- name: count_unread
-- So far as anybody wants to know.
select count(*) as unread from (
  select from inbox_items where org_id = %(org_id)s and user_id = %(user_id)s and read_at is null limit %(most)s
) as counted

-- name: mark_item
-- Read or unread; an item that is so already keeps its time.
update inbox_items set read_at = case when %(is_read)s then coalesce(read_at, now()) end
where org_id = %(org_id)s and user_id = %(user_id)s and seq = %(seq)s
returning seq, org_id, user_id, notification_id, category, title, body, link, created_at, read_at

-- name: mark_all_items
-- Everything that is unread.
with marked as (
  update inbox_items set read_at = now() where org_id = %(org_id)s and user_id = %(user_id)s and read_at is null returning seq
)
select count(*) as marked from marked
