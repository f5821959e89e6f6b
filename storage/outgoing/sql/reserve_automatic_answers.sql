-- Sets automatic answers to these addresses aside for an action; an address is missing from the answer when it got one lately. One that was
-- set aside for an action that ended without sending counts for nothing. Addresses in order, so that two actions wait and do not deadlock.
insert into automatic_answers as a (org_id, account_id, address, action_id)
select x.org_id, x.account_id, w.address, x.id
from (select distinct unnest(%(addresses)s::text[]) as address order by 1) w
cross join (select org_id, account_id, id from actions where account_id = %(account_id)s and id = %(action_id)s) x
order by w.address
on conflict (org_id, account_id, address) do update set action_id = excluded.action_id, answered_at = now()
where a.action_id = excluded.action_id
  or a.answered_at <= now() - %(every)s::interval
  or (exists (select from actions d where d.org_id = a.org_id and d.account_id = a.account_id and d.id = a.action_id
                and d.state in ('failed', 'denied', 'expired', 'canceled'))
      and not exists (select from outgoing_mails m where m.org_id = a.org_id and m.account_id = a.account_id and m.action_id = a.action_id
                        and m.send_began_at is not null))
returning address
