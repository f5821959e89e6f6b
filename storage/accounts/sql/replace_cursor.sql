-- Begins a history that does not know the stored id, which is later than any of its own; nothing when the cursor has moved meanwhile.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id = %(unknown)s and history_id > %(history_id)s
returning id
