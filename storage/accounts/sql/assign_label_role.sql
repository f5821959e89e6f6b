-- Gives a live label its meaning, and takes that meaning from any other of the account's.
with freed as (
  update labels set role = null
  where account_id = %(account_id)s and role = %(role)s and gmail_label_id <> %(label_id)s
  returning 1
)
update labels set role = %(role)s
where account_id = %(account_id)s and gmail_label_id = %(label_id)s and deleted_at is null
  and (select count(*) from freed) >= 0
returning gmail_label_id
