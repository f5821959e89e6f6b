-- Which of these tokens an account's drafts and outgoing mails were made with, and in which threads.
select token, gmail_thread_id as thread_id from draft_tokens
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
union all
select token, coalesce(sent_thread_id, draft_thread_id, '') from outgoing_mails
where account_id = %(account_id)s and org_id = (select org_id from accounts where id = %(account_id)s) and token = any (%(tokens)s::text[])
