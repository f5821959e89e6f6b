"""KEDA's queries read little of a ledger in which a million jobs wait and a million are scheduled.

They are run as they are written in deploy/kubernetes, by the login that KEDA has.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from storage.postgres.logins import WATCH_ROLE
from tests.deployment import objects
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.storage.jobs.plans.million import in_bulk, prepare

MOST_BUFFERS = 2_000
"""Blocks of 8 kB that a query reads at most: a fleet with seven queues asks for each every ten seconds."""

FILL = """
insert into jobs (id, org_id, job_type, queue, payload, payload_version, idempotency_key, guarded,
  actor_type, actor_id, request_id, correlation_id, max_attempts, deadline, state, attempt, created_at, run_at,
  next_check_at, backlog_since)
select uuidv7(), orgs.ids[1 + n % 50], 'probe.run', 'default', '{}', 1, 'k' || n, false,
  'system', 'x', 'r', 'c', 5, interval '5 minutes', 'queued', 0, now(),
  case n % 2 when 0 then now() else now() + n * interval '1 millisecond' + interval '1 minute' end,
  case n % 2 when 1 then now() + n * interval '1 millisecond' + interval '1 minute' end,
  case n % 2 when 0 then now() end
from generate_series(1, 2000000) n, (select array_agg(id) as ids from orgs where name like 'tenant %') as orgs
"""
"""Every second waits in the backlog; the others are due between a minute and 34 minutes from now."""


@pytest.fixture(scope="module")
def full(servers: SessionServers) -> Iterator[Connection]:
    with (
        temporary_database(servers, template=TEMPLATE) as url,
        psycopg.connect(url, autocommit=True) as owner,
    ):
        prepare(owner)
        with in_bulk(owner):
            owner.execute(FILL.encode())
        owner.execute(f"set role {WATCH_ROLE}".encode())
        yield owner


def queries() -> dict[str, tuple[str, int]]:
    """What KEDA asks, and how many jobs all replicas of a worker could need, by queue."""
    found = {}
    for name, one in objects("ScaledObject").items():
        asked = one["spec"]["triggers"][0]["metadata"]
        most = one["spec"]["maxReplicaCount"] * int(asked["targetQueryValue"])
        found[name.removeprefix("postroom-worker-")] = (asked["query"], most)
    return found


def buffers_of(plan: dict[str, Any]) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def test_each_query_counts_what_is_needed_and_reads_little(full: Connection) -> None:
    read = {}
    for queue, (query, most) in queries().items():
        assert full.execute(query.encode()).fetchone() == (most if queue == "default" else 0,), queue
        row = full.execute(f"explain (analyze, buffers, format json) {query}".encode()).fetchone()
        assert row is not None
        read[queue] = buffers_of(row[0][0]["Plan"])
    assert all(0 < blocks < MOST_BUFFERS for blocks in read.values()), read


def test_a_query_that_counts_all_would_be_found(full: Connection) -> None:
    full.execute("reset role")
    counts = "select count(*) from jobs where queue = 'default' and backlog_since is not null"
    row = full.execute(f"explain (analyze, buffers, format json) {counts}".encode()).fetchone()
    full.execute(f"set role {WATCH_ROLE}".encode())
    assert row is not None
    assert buffers_of(row[0][0]["Plan"]) > MOST_BUFFERS
