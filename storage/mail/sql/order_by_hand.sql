-- Its person, or a service, has ordered the draft that a pending record waits for. Its waiting begins with that.
-- What a service has ordered stays so, whatever labels order besides.
update emails set by_hand_at = greatest(by_hand_at, %(at)s), by_service = %(by_service)s or (by_service and by_hand_at is not null), state_changed_at = now()
where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s and state = 'pending'
returning id
