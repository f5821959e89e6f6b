-- Lets one process refresh, for a short time and only from the version it has seen (providers.md 2.2).
update accounts set refresh_owner = %(owner)s, refresh_until = clock_timestamp() + %(lease)s
where id = %(account_id)s and status = 'active' and token_version = %(version)s
  and (refresh_until is null or refresh_until < clock_timestamp())
returning id
