-- The account may send nothing until then; of two pauses the later end wins.
update accounts set sending_paused_until = greatest(sending_paused_until, %(until)s)
where id = %(account_id)s
returning id
