-- Changes some of an account's settings and keeps the others.
update accounts set settings = settings || %(settings)s
where id = %(account_id)s
returning id
