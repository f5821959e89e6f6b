-- Writes one line of the catalogue; an older worker beside a newer one does not turn the payload version back. Refuses an
-- end-of-job hook that no migration has made. Who names no hook or no audit event removes none: in a rolling deploy that is an older worker. A migration
-- removes a hook, by setting on_end to NULL.
insert into job_types as t (name, aliases, queue, payload_version, payload_schema, max_attempts, deadline, unique_mode,
                            unique_fields, keep_key_for, serial_field, serial_limit, light, providers, on_end, audits)
values (%(name)s, %(aliases)s, %(queue)s, %(payload_version)s, %(payload_schema)s, %(max_attempts)s, %(deadline)s,
        %(unique_mode)s, %(unique_fields)s, %(keep_key_for)s, %(serial_field)s, %(serial_limit)s, %(light)s, %(providers)s,
        postroom.checked_end_hook(%(on_end)s), %(audits)s)
on conflict (name) do update set
  aliases = excluded.aliases, queue = excluded.queue, payload_version = excluded.payload_version,
  payload_schema = excluded.payload_schema, max_attempts = excluded.max_attempts, deadline = excluded.deadline,
  unique_mode = excluded.unique_mode, unique_fields = excluded.unique_fields, keep_key_for = excluded.keep_key_for,
  serial_field = excluded.serial_field, serial_limit = excluded.serial_limit, light = excluded.light,
  providers = excluded.providers, on_end = coalesce(excluded.on_end, t.on_end),
  audits = array(select distinct a from unnest(t.audits || excluded.audits) as a order by a), seen_at = now()
where t.payload_version <= excluded.payload_version
