-- Which of these tokens an account's mails of actions were made with.
select token from outgoing_mails
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
