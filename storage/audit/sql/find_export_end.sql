-- The last of the next entries before the first that is not older than a time; null when there is none. An entry gets its number before
-- its commit, so a later number may have an earlier time: what is older than the time and comes after that entry waits for the next file.
select max(id) as upto from audit_entries
where id > %(after)s and id <= %(upto)s
  and id < coalesce((select min(id) from audit_entries where id > %(after)s and id <= %(upto)s and at >= %(before)s), 9223372036854775807)
