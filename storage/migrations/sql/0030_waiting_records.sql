-- Each full sync looks for records that wait for their first draft (find_waiting_records); without it all records of the account are read.
create index emails_waiting on emails (org_id, account_id, state_changed_at) where state = 'pending';
