-- name: take_label_lease
-- Lets one job make the account's labels for a while; the same one again.
update accounts set labels_owner = %(owner)s, labels_until = clock_timestamp() + %(lease)s
where id = %(account_id)s and (labels_until is null or labels_until < clock_timestamp() or labels_owner = %(owner)s)
returning id

-- name: release_label_lease
-- Ends a job's lease on the account's labels, if the job still has it.
update accounts set labels_owner = null, labels_until = null
where id = %(account_id)s and labels_owner = %(owner)s
