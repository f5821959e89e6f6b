-- Nothing when the person owns a mailbox.
delete from users u
where u.id = %(user_id)s and not exists (select 1 from accounts a where a.org_id = u.org_id and a.user_id = u.id)
returning u.id as user_id
