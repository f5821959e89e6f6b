-- Moves a record from one state to another; nothing when it is not where the caller thought.
update emails set state = %(to)s, state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = %(from)s
returning id
