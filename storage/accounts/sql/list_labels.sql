-- An account's labels as Gmail last listed them.
select gmail_label_id as label_id, name, kind, role, description, for_classifier
from labels
where account_id = %(account_id)s and deleted_at is null
order by gmail_label_id
