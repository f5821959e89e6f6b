-- Puts the second mail mix's table under row-level security, as every table of a tenant's.
call postroom.fence_table('message_rows');
grant insert on message_rows to postroom_tenant;
