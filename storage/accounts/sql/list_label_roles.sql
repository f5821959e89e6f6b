-- Every role that a label of the account has or had when its person deleted it.
select distinct role from labels where account_id = %(account_id)s and role is not null order by role
