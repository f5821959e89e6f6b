-- How the owner of an account writes, if that was learned.
select voice, sampled, learned_at from voices where account_id = %(account_id)s
