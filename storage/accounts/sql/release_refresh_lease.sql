-- Gives the lease back after a refresh that failed, so that the next process need not wait for its end.
update accounts set refresh_owner = null, refresh_until = null
where id = %(account_id)s and refresh_owner = %(owner)s
returning id
