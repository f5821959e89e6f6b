"""A ledger with a million jobs, filled once for the whole session, to see how statements find their rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from bench.stores import bulk_sql
from tests.servers.servers import TEMPLATE, SessionServers, create_database

NAME = "postroom_million"
JOBS, GUARDS, ACCOUNTS = 1_000_000, 200_000, 5_000
LOCK = 1_000_000

INDEXES = "select indexname, indexdef from pg_indexes where tablename = 'jobs' and indexname <> 'jobs_pkey'"

FILL_JOBS = """
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded,
  serial_key, actor_type, actor_id, request_id, correlation_id, max_attempts, deadline,
  state, attempt, created_at, run_at,
  published_at, next_check_at, backlog_since, parked_by, claim_token, worker_id, claimed_at, started_at, finished_at)
select uuidv7(at - clock_timestamp()), orgs.ids[1 + n % 50], 'probe.run', 'default', '{}', 1, 'k' || n, n % 5 = 0,
  case when kind in (3, 4) then 'probe.run:' || n / 20 end, 'system', 'x', 'r', 'c', 5, interval '5 minutes',
  case when kind = 0 then 'succeeded' when kind = 4 then 'running' else 'queued' end, (kind in (0, 4))::int, at,
  case kind when 1 then now() + n * interval '1 second' else at end,
  case kind when 5 then now() end,
  case kind when 1 then now() + n * interval '1 second' when 4 then now() + interval '60 s'
    when 5 then now() + interval '30 s' end,
  case kind when 2 then at end,
  case kind when 3 then case n % 2 when 0 then 'gate:queue:default' else 'key:probe.run:' || n / 20 end end,
  case kind when 4 then uuidv4() end, case kind when 4 then workers.ids[1 + n % 20] end,
  case kind when 4 then now() end, case kind when 4 then now() end, case kind when 0 then at end
from (
  select n, now() - interval '7 days' * (1 - n / 1000000.0) as at,
    case when n <= 900000 then 0 when n <= 950000 then 1 when n <= 975000 then 2 when n <= 990000 then 3
      when n <= 995000 then 4 else 5 end as kind
  from generate_series(1, 1000000) n) as j,
  (select array_agg(id) as ids from orgs where name like 'tenant %') as orgs,
  (select array_agg(id) as ids from workers) as workers
"""
"""Nine of ten are finished; the others: 1 scheduled, 2 backlog, 3 parked, 4 running, 5 published."""

FILL_REST = """
insert into serial_slots (serial_key, slot, job_id)
select distinct on (serial_key) serial_key, 1, id from jobs where state = 'running';
insert into idempotency_keys (org_id, key, kind, mode, status, job_id, expires_at)
select org_id, idempotency_key, 'job', 'for_ttl', case when finished_at is null then 'pending' else 'succeeded' end, id,
  now() + interval '30 days' from jobs where guarded;
insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt)
select 'job.enqueued', org_id, 'system', 'x', 'r', 'c', id, job_type, 0 from jobs
"""

ORGS = """
create temporary view one_org as select id from orgs where name = 'tenant 7';
create temporary view nine_orgs as select id from orgs where name like 'tenant _'
"""
FILL_LISTS = """
create temporary table spans as select span, make_interval(mins => span) as length, kept
from (values (1, 4320), (10, 5040), (60, 9600), (1440, 400)) as s (span, kept);
insert into dead_letters (org_id, job_id, job_type, queue, payload, payload_version, reason, error, plan, state,
  created_at, resolved_at)
select id, uuidv4(), 'probe.run', 'default', '{}', 1, 'r', '{}', 'p',
  case when n % 100 = 0 then 'open' else 'discarded' end, at, case when n % 100 > 0 then at end
from (select n, now() - n * interval '1 minute' as at, o.id from generate_series(1, 7000) n, nine_orgs o) as letters;
insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at, last_seen_at,
  result_ref)
select id, 'effect ' || n, 'effect', 'find', case when n % 2 = 0 then 'unknown' else 'succeeded' end, uuidv4(),
  uuidv4(), now() + interval '30 days', now() - n * interval '1 second', '{}'
from generate_series(1, 60000) n, one_org;
insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)
select 'gate.closed', id, 'user', 'ada', 'r', 'c' from generate_series(1, 1000), nine_orgs;
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id,
  request_id, correlation_id, max_attempts, deadline, state, created_at, foreign_at, finished_at, cancel_reason,
  parent_id)
select uuidv4(), o.id, 'probe.run', 'default', '{}', 1, 'f' || n, false, 'system', 'x', 'r', 'c', 5,
  interval '5 minutes', 'canceled', now() - n * interval '1 second', now() - n * interval '1 second', now(),
  'not needed',
  (select id from jobs order by id limit 1)
from generate_series(1, 30000) n, one_org o;
insert into job_minutes (minute, span, job_type, queue, enqueued, started, retried, succeeded, failed, dead, canceled,
  lost, seconds, histogram, microcents)
select date_bin(length, now(), 'epoch') - n * length as at, span, 'probe.t' || t, 'default', 1, 1, 0, 1, 0, 0, 0,
  0, 1.5, array_fill(1, array[17]), 0
from spans, generate_series(0, kept) n, generate_series(1, 20) t order by at;
insert into org_hours select date_bin('1 hour', now(), 'epoch') - n * interval '1 hour', o.id, 'probe.t' || t, 1, 1,
  0, 0, 0, 1, 0
from generate_series(0, 2400) n, generate_series(1, 10) t, nine_orgs o;
insert into queue_samples select date_bin(length, now(), 'epoch') - n * length, span, q, 1, 1, 1, 1, 1, 1
from spans, generate_series(0, kept) n, unnest(array['default', 'critical', 'exports']) q;
analyze jobs, dead_letters, idempotency_keys, audit_entries, job_minutes, org_hours, queue_samples
"""
"""Letters and deeds of nine orgs; effects in doubt of one, and canceled children whose ids say nothing."""


def million_url(servers: SessionServers) -> str:
    """The owner's URL of the filled database; of all test processes the first fills it, and the others wait."""
    with psycopg.connect(servers.database_url("postgres"), autocommit=True) as owner:
        owner.execute("select pg_advisory_lock(%s)", (LOCK,))
        if owner.execute("select from pg_database where datname = %s", (NAME,)).fetchone() is None:
            create_database(servers, NAME + "_half", template=TEMPLATE)
            fill(servers.database_url(NAME + "_half"))
            rename = sql.SQL("alter database {} rename to {}")
            owner.execute(rename.format(sql.Identifier(NAME + "_half"), sql.Identifier(NAME)))
    return servers.database_url(NAME)


def fill(url: str) -> None:
    """What the statements look up: jobs of all states, with all that belongs to them."""
    with psycopg.connect(url, autocommit=True) as owner:
        prepare(owner)
        with in_bulk(owner):
            owner.execute(FILL_JOBS.encode())
            owner.execute(FILL_REST.encode())


@contextmanager
def in_bulk(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """What no producer does: indexes after the rows, no search for secrets, and no check of the org of each job."""
    owner.execute(bulk_sql("spare_scans"))
    indexes = owner.execute(INDEXES).fetchall()
    for name, _ in indexes:
        owner.execute(sql.SQL("drop index {}").format(sql.Identifier(name)))
    owner.execute("set session_replication_role = replica")  # triggers and foreign keys; the checks remain
    yield
    for _, definition in indexes:
        owner.execute(definition)
    owner.execute(bulk_sql("restore_scans"))
    owner.execute("vacuum analyze")


def prepare(owner: psycopg.Connection[Any]) -> None:
    """The orgs, workers and job type of the jobs."""
    owner.execute(bulk_sql("add_accounts"), {"accounts": ACCOUNTS})
    owner.execute("insert into orgs (name) select 'tenant ' || n from generate_series(1, 50) n")
    owner.execute(
        "insert into workers (id, node_id, hostname, pid, lease_until)"
        " select uuidv4(), uuidv4(), 'host', n, now() + interval '1 minute' from generate_series(1, 20) n"
    )
    owner.execute(
        "insert into job_types (name, queue, payload_version, max_attempts, deadline, keep_key_for,"
        " serial_field, unique_mode) values ('probe.run', 'default', 1, 5, '5 minutes', '30 days', 'account_id',"
        " 'while_active')"
    )
    owner.execute("insert into gates (scope, key, reason, actor) values ('queue', 'exports', 'a pause', 'ada')")
