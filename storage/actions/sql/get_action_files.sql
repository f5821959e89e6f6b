-- The files of an action's mail, with their content as base64; null where it has none.
select files from actions where account_id = %(account_id)s and id = %(action_id)s
