-- The actions on a message, in the order they were asked for.
select id as action_id, account_id, gmail_message_id as message_id, decision_id, undo_of, kind, parameters, danger, reasons, state, undo_hint, error
from actions
where account_id = %(account_id)s and gmail_message_id = %(message_id)s
order by created_at, id
