-- Since when the audit log keeps what no file has: the newest entry that one has, or the first of the table before any export, which
-- nothing was deleted from. And whether entries that are older than `keep_for` wait to be counted before they may go.
select
  coalesce((select max(newest_at) from audit_exports where exported_at is not null), (select at from audit_entries limit 1)) as since,
  exists (select from audit_exports where exported_at is not null) as is_exported,
  exists (
    select from audit_exports x, counting c
    where x.exported_at is not null and x.emptied_at is null and x.upto_id > c.counted_to
      and x.newest_at < now() - %(keep_for)s::interval - interval '1 hour'
  ) as is_uncounted
