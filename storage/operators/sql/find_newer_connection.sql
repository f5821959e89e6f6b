-- The account that a job's payload names, if it was disconnected and connected again after the job was made.
select id from accounts
where org_id = %(org_id)s and connected_at > %(made_at)s
  and id = case when %(account)s ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then %(account)s::uuid end
