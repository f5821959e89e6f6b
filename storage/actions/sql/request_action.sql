-- An action that somebody asked for, on a stored message, with the files that it names; nothing when the message is not stored, or there is
-- an action of this id.
insert into actions (id, org_id, account_id, gmail_message_id, kind, parameters, version, danger, reasons, state, requested_by, files)
select coalesce(%(action_id)s::uuid, uuidv7()), org_id, account_id, gmail_message_id, %(kind)s, %(parameters)s, %(version)s, %(danger)s, %(reasons)s::text[], %(state)s, %(requested_by)s,
  %(files)s::jsonb
from messages
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and deleted_at is null
on conflict (id) do nothing
returning id as action_id
