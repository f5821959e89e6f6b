-- The Message-ID that Gmail gave the sent mail.
update outgoing_mails set rfc_message_id = %(rfc_message_id)s
where account_id = %(account_id)s and action_id = %(action_id)s and sent_message_id is not null
returning action_id
