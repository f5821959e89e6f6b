-- How far the mail of an action has got.
select action_id, token, message_type, automatic, history_id, draft_id, draft_message_id, draft_thread_id, send_began_at, sent_message_id,
       sent_thread_id, sent_at, rfc_message_id
from outgoing_mails
where account_id = %(account_id)s and action_id = %(action_id)s
