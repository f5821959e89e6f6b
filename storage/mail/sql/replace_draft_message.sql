-- A person edited the draft: its id stays, its message is another. While it is reworked, the message that was read stays.
update emails set draft_message_id = %(draft_message_id)s
where account_id = %(account_id)s and draft_id = %(draft_id)s and state <> 'rework_requested'
returning id
