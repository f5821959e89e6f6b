-- PostgreSQL lets everybody execute a new function. Here nobody may, but for the grants beside each function: most of them
-- run with the owner's rights, and a tenant that could call them would reach across orgs (promise P6).
revoke execute on all routines in schema postroom from public;
alter default privileges revoke execute on routines from public;
