-- name: record_corrections
-- Labels that an owner took off: those that the latest decision about the message had put on are corrections, one per
-- thread, label and decision.
with removed as (
  select * from unnest(%(messages)s::text[], %(labels)s::text[], %(moved_to)s::text[]) as r (message_id, label_id, moved_to)
),
ours as (
  select distinct on (m.gmail_thread_id, r.label_id)
         m.org_id, m.account_id, m.gmail_message_id, d.id as decision_id, r.label_id, r.moved_to, d.classification
  from removed r
  join messages m on m.account_id = %(account_id)s and m.gmail_message_id = r.message_id
  join lateral (
    select o.id, o.classification, o.label_ids, o.at
    from decisions o
    where o.org_id = m.org_id and o.account_id = m.account_id and o.gmail_message_id = m.gmail_message_id
    order by o.at desc
    limit 1
  ) as d on true
  left join labels l on l.org_id = m.org_id and l.account_id = m.account_id and l.gmail_label_id = r.label_id
  where r.label_id = any (d.label_ids)
    or exists (
      select from actions a
      where a.org_id = m.org_id and a.account_id = m.account_id and a.decision_id = d.id and a.kind = 'apply_label'
        and a.parameters ->> 'label_id' = r.label_id and a.state = 'done')
    -- Needs Response counts while an answer is still waited for: later, its owner merely tidies up.
    or (l.role = 'needs_response' and d.classification = 'needs_response' and exists (
      select from emails e
      where e.org_id = m.org_id and e.account_id = m.account_id and e.gmail_thread_id = m.gmail_thread_id and e.state in ('pending', 'drafted')))
  order by m.gmail_thread_id, r.label_id, d.at desc
)
insert into label_corrections (org_id, account_id, gmail_message_id, decision_id, gmail_label_id, moved_to, classification)
select org_id, account_id, gmail_message_id, decision_id, label_id, moved_to, classification from ours
on conflict (org_id, account_id, decision_id, gmail_label_id) do nothing
returning id

-- name: list_corrections
-- What an account's owner corrected since a time, the latest first; labels that have vanished are passed over.
select c.id as correction_id, c.gmail_message_id as message_id, m.sender, l.name as label, t.name as moved_to, c.classification, c.at
from label_corrections c
join messages m on m.org_id = c.org_id and m.account_id = c.account_id and m.gmail_message_id = c.gmail_message_id
join labels l on l.org_id = c.org_id and l.account_id = %(account_id)s and l.gmail_label_id = c.gmail_label_id and l.deleted_at is null
left join labels t on t.org_id = c.org_id and t.account_id = %(account_id)s and t.gmail_label_id = c.moved_to and t.deleted_at is null
where c.org_id = (select org_id from accounts where id = %(account_id)s) and c.account_id = %(account_id)s
  and c.at >= %(since)s
order by c.at desc, c.id desc
limit %(limit)s
