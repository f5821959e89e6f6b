-- The names of the profiles that a mailbox uses, its org's and its own; without a mailbox those of the org and of all its mailboxes.
select distinct name from agent_profiles
where org_id = %(org_id)s and (%(account_id)s::uuid is null or account_id is null or account_id = %(account_id)s)
