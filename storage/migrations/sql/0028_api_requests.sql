-- Any request that makes something may come with an idempotency key, not only one for a job
-- (docs/howto/hand-over-work.md). Null in a row that a gateway of the release before wrote: there job_id says it.
alter table api_requests add column made uuid[] check (cardinality(made) > 0);
grant update (made) on api_requests to postroom_tenant;
-- Rules, directions and retries are written as the ledger, beside the audit log's entry.
grant insert (org_id, key, fingerprint, expires_at) on api_requests to postroom_ledger;
grant update (fingerprint, job_id, made, created_at, expires_at) on api_requests to postroom_ledger;
comment on table api_requests is
  'Requests with an idempotency key: what each asked for, as a digest, and what it made.';
