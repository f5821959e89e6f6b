-- For each label id the id that stands for it now: itself while it lives, else the live label of the same name.
select old.gmail_label_id as old_id, coalesce(case when old.deleted_at is null then old.gmail_label_id end, new.gmail_label_id) as new_id
from labels old
left join labels new on new.org_id = old.org_id and new.account_id = old.account_id and new.deleted_at is null
  and lower(new.name) = lower(old.name) and old.deleted_at is not null
where old.account_id = %(account_id)s and old.gmail_label_id = any (%(ids)s::text[])
