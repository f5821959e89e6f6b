-- An org's actions, the newest first, from a place on; a filter that is null does not narrow the list.
select a.id as action_id, a.org_id, a.account_id, a.gmail_message_id as message_id, a.decision_id, a.job_id, a.kind, a.parameters, a.version, a.danger,
       a.reasons, a.state, a.undo_hint, a.error, a.requested_by, a.approver, a.decided_at, a.approval_expires_at, a.approval_reason,
       a.sent_message_id, a.created_at, a.started_at, a.finished_at,
       (select k.effect_id from action_links k where k.org_id = a.org_id and k.account_id = a.account_id and k.cause_id = a.id
          and k.relation = 'undo_of') as undo_of,
       (select k.cause_id from action_links k where k.org_id = a.org_id and k.account_id = a.account_id and k.effect_id = a.id
          and k.relation = 'undo_of') as undone_by
from actions a
where a.org_id = %(org_id)s
  and (%(account_id)s::uuid is null or a.account_id = %(account_id)s)
  and (%(message_id)s::text is null or a.gmail_message_id = %(message_id)s)
  and (%(states)s::text[] is null or a.state = any (%(states)s))
  and (%(kind)s::text is null or a.kind = %(kind)s)
  and (%(last_created_at)s::timestamptz is null or (a.created_at, a.id) < (%(last_created_at)s, %(last_id)s::uuid))
order by a.created_at desc, a.id desc
limit %(limit)s
