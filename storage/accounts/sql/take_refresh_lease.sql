-- Lets one process refresh for a short time, from the version it has seen (docs: google-oauth.md#refreshing).
update accounts set refresh_owner = %(owner)s, refresh_until = clock_timestamp() + %(lease)s
where id = %(account_id)s and status = 'active' and token_version = %(version)s
  and (refresh_until is null or refresh_until < clock_timestamp())
returning id
