-- Labels that Gmail no longer lists, and the rules that named them: disabled with the reason, for a person to mend.
with vanished as (
  update labels set deleted_at = now()
  where account_id = %(account_id)s and deleted_at is null and gmail_label_id <> all (%(ids)s::text[])
  returning org_id, account_id, gmail_label_id, name
),
named as (
  select org_id, account_id, array_agg(gmail_label_id) as ids from vanished group by org_id, account_id
),
rules_off as (
  update rules r set enabled = false, updated_at = now(),
    disabled_reason = 'Label ''' || (select left(min(v.name), 200) from vanished v where v.gmail_label_id = any (r.label_ids)) || ''' was deleted from Gmail'
  from named n
  where r.org_id = n.org_id and r.enabled and r.label_ids && n.ids and (r.account_id is null or r.account_id = n.account_id)
  returning r.id
),
llm_rules_off as (
  update llm_rules r set enabled = false, updated_at = now(),
    disabled_reason = 'Label ''' || (select left(min(v.name), 200) from vanished v where v.gmail_label_id = any (r.label_ids)) || ''' was deleted from Gmail'
  from named n
  where r.org_id = n.org_id and r.enabled and r.label_ids && n.ids and (r.account_id is null or r.account_id = n.account_id)
  returning r.id
)
select (select coalesce(array_agg(gmail_label_id order by gmail_label_id), '{}') from vanished) as labels,
       (select coalesce(array_agg(id order by id), '{}') from (select id from rules_off union all select id from llm_rules_off) as o) as disabled_rules
