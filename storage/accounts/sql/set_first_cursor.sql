-- Where history begins for an account that has no cursor yet.
update accounts set history_id = %(history_id)s
where id = %(account_id)s and history_id is null
returning id
