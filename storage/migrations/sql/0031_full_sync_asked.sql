-- Which models and prompt the latest full sync named for messages that others had left undecided: those are asked about at once when it
-- changes, and at growing ages as long as it does not.
alter table accounts add column full_sync_asked text check (length(full_sync_asked) between 1 and 300);
grant update (full_sync_asked) on accounts to postroom_tenant;
