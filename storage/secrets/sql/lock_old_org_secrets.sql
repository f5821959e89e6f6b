-- Secrets that another key than the first has sealed, locked.
select org_id, name, sealed from org_secrets
where key_id <> %(key_id)s
order by org_id, name limit %(batch)s
for update skip locked
