-- What the user says of a label.
update labels set description = %(description)s, for_classifier = %(for_classifier)s
where account_id = %(account_id)s and gmail_label_id = %(label_id)s and deleted_at is null
returning gmail_label_id
