-- Takes an idempotency key for a request of the org; no row when an earlier request has it. Waits for one that is under way.
insert into api_requests as r (org_id, key, fingerprint, expires_at)
values (%(org_id)s, %(key)s, %(fingerprint)s, now() + %(keep_for)s::interval)
on conflict (org_id, key) do update set
  fingerprint = excluded.fingerprint, job_id = null, made = null, created_at = now(), expires_at = excluded.expires_at
where r.expires_at <= now()
returning key
