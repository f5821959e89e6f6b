-- An action that somebody asked for, on a stored message, with the files that it names; nothing when the message is not stored.
insert into actions (org_id, account_id, gmail_message_id, kind, parameters, version, danger, reasons, state, requested_by, files)
select org_id, account_id, gmail_message_id, %(kind)s, %(parameters)s, %(version)s, %(danger)s, %(reasons)s::text[], %(state)s, %(requested_by)s,
  %(files)s::jsonb
from messages
where account_id = %(account_id)s and gmail_message_id = %(message_id)s and deleted_at is null
returning id as action_id
