-- Moves the cursor forward, never back; compared as numbers.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id < %(history_id)s
returning id
