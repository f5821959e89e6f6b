-- Where an action stands, held until the end of the transaction: a decision waits for it, or has come before.
select state from actions where id = %(action_id)s for share
