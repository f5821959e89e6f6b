-- The record of a thread that wants an answer, made if there is none; an existing one is left as it is.
-- With in_inbox the message must still be in the inbox; its lock holds up whoever is about to archive it.
with opened as (
  insert into emails (org_id, account_id, gmail_thread_id, gmail_message_id, state, classification, decision_source, confidence, needs_review)
  select org_id, account_id, gmail_thread_id, %(message_id)s, %(state)s, %(classification)s, %(source)s, %(confidence)s, %(needs_review)s
  from threads
  where account_id = %(account_id)s and gmail_thread_id = %(thread_id)s
    and (not %(in_inbox)s or exists (
      select from messages m
      where m.account_id = %(account_id)s and m.gmail_message_id = %(message_id)s and 'INBOX' = any (m.labels)
      for share))
  on conflict (org_id, account_id, gmail_thread_id) do nothing
  returning id
)
select exists (select from opened) as created
