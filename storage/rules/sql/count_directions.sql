-- How many directions an org has.
select count(*) as directions from directions where org_id = %(org_id)s
