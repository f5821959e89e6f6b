-- The newest of the next entries that is older than a time; null when none is.
select max(id) as upto from audit_entries where id > %(after)s and id <= %(upto)s and at < %(before)s
