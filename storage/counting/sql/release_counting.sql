-- Lets another process count at once.
update counting set holder = null, held_at = null where holder = %(holder)s
