-- Its person has ordered the draft that a pending record waits for. Its waiting begins with that.
update emails set by_hand_at = greatest(by_hand_at, %(at)s), state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id
