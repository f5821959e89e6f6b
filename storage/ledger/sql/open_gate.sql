-- Opens a gate for one cause or for all; returns a row for each that was closed, and wakes the relay, which lets out what waits.
update gates set until = now()
where scope = %(scope)s and key = %(key)s and (%(cause)s::text is null or cause = %(cause)s) and (until is null or until > now())
returning cause, pg_notify('postroom_due', 'gate')
