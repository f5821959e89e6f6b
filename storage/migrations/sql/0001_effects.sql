create domain postroom.guard_key as text check (length(value) between 1 and 400);
create domain postroom.guard_kind as text check (value in ('job', 'client', 'named', 'effect'));
create domain postroom.guard_mode as text check (value in ('while_queued', 'while_active', 'for_ttl', 'native_key', 'find', 'idempotent', 'at_most_once'));
create domain postroom.guard_status as text check (value in ('pending', 'running', 'succeeded', 'failed', 'dead', 'unknown'));

-- The jobs that have begun an effect beside the one that its key names: two jobs may want the same effect. Before the keys, so that an
-- erasure changes a key before it comes here.
create table effect_jobs (
  org_id uuid not null references orgs (id) not enforced,  -- as in jobs
  key text not null,
  job_id uuid not null,
  primary key (org_id, key, job_id)
);
create index effect_jobs_job on effect_jobs (job_id);
call postroom.fence_table('effect_jobs', 'org_id', 'select');
call postroom.erasure_rule('effect_jobs',
  person_rows => 'exists (select from jobs j where j.id = job_id and (j.payload::text ~* the.ids or j.actor_id ~* the.ids))');
grant select, update, delete on effect_jobs to postroom_ledger;
grant select on effect_jobs to postroom_tenant;

-- Guards jobs (one of a kind) and effects (once, or known to be unknown) alike. A key's kind is its space
-- (docs/explanation/effects.md#keys): the fleet's jobs, jobs that clients name, jobs that clients ask for without a name, and effects.
-- Whatever a client names a key, a guard of another space under the same words is another row.
create table idempotency_keys (
  org_id uuid not null references orgs (id) not enforced,  -- as in jobs
  key postroom.guard_key not null,
  kind postroom.guard_kind not null,
  mode postroom.guard_mode not null,
  status postroom.guard_status not null,
  job_id uuid not null,
  owner_token uuid,
  first_seen_at timestamptz not null default now(),
  -- When the job of the key was last asked for, or ended; when something last became of an effect.
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- For how long the guard of a job stands after the job's end.
  kept_after_end interval,
  -- When the first call under this key could begin: a provider remembers a key for a time only.
  begun_at timestamptz,
  -- Until when the call that an intent announced may be under way, by the database's clock.
  may_last_until timestamptz,
  -- What an effect with a native key sends: the same key must come with the same bytes. Kept while the effect is in doubt.
  request bytea,
  -- What a request under a key asked for, as a digest of job type and payload; null where the guard's key was not named by a caller.
  request_digest bytea,
  result_ref jsonb,
  error_ref jsonb,
  -- Since when nobody knows whether an effect happened. An index that named the status would end the heap-only updates of guards and effects.
  unknown_since timestamptz generated always as (case when status = 'unknown' then last_seen_at end) stored,
  primary key (org_id, key, kind),
  constraint effect_names_its_claim check (kind <> 'effect' or owner_token is not null),
  constraint mode_fits_kind check ((kind <> 'effect') = (mode in ('while_queued', 'while_active', 'for_ttl'))),
  constraint success_has_result check (kind <> 'effect' or status <> 'succeeded' or result_ref is not null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000, vacuum_truncate = false);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
create index idempotency_keys_unknown on idempotency_keys (unknown_since desc) where unknown_since is not null;
create index idempotency_keys_job on idempotency_keys (job_id) where kind = 'effect';
call postroom.fence_table('idempotency_keys', 'org_id', 'select');
call postroom.erasure_rule('idempotency_keys',
  person_rows => 'exists (select from jobs j where j.id = job_id and (j.payload::text ~* the.ids or j.actor_id ~* the.ids))',
  bytes => '{request}');
grant select, insert, update, delete on idempotency_keys to postroom_ledger;
-- Not the token of the claim (promise P4).
grant select (
  org_id, key, kind, mode, status, job_id, first_seen_at, last_seen_at, expires_at, begun_at, result_ref, error_ref, unknown_since
) on idempotency_keys to postroom_tenant;
