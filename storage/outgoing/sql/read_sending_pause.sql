-- Until when the account may send nothing.
select sending_paused_until as until from accounts where id = %(account_id)s and sending_paused_until > now()
