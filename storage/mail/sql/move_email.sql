-- Moves a record from one state to another; nothing when it is not where the caller thought, or, where the caller names the
-- thread's newest message, when another one has come.
update emails set state = %(to)s, state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
  and (%(newest)s::text is null or %(newest)s = (select m.gmail_message_id from messages m
    where m.account_id = %(account_id)s and m.gmail_thread_id = %(thread_id)s and m.deleted_at is null
    order by m.received_at desc, m.gmail_message_id desc limit 1))
returning id
