-- Ends a job's lease on the account's labels, if the job still has it.
update accounts set labels_owner = null, labels_until = null
where id = %(account_id)s and labels_owner = %(owner)s
