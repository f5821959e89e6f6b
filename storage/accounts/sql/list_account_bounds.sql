-- Every so-manieth active account, in the order of their ids: where one part of the fleet ends and the next begins.
select id from (
  select id, row_number() over (order by id) as place from accounts where status = 'active'
) as a
where place %% %(batch)s = 0 order by id
