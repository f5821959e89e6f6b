-- What an account's owner corrected since a time, the latest first; labels that have vanished are passed over.
select c.id as correction_id, c.gmail_message_id as message_id, m.sender, l.name as label, t.name as moved_to, c.classification, c.at
from label_corrections c
join messages m on m.org_id = c.org_id and m.account_id = c.account_id and m.gmail_message_id = c.gmail_message_id
join labels l on l.org_id = c.org_id and l.account_id = c.account_id and l.gmail_label_id = c.gmail_label_id and l.deleted_at is null
left join labels t on t.org_id = c.org_id and t.account_id = c.account_id and t.gmail_label_id = c.moved_to and t.deleted_at is null
where c.org_id = (select org_id from accounts where id = %(account_id)s) and c.account_id = %(account_id)s and c.at >= %(since)s
order by c.at desc, c.id desc
limit %(limit)s
