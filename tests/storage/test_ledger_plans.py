"""The hot statements use their indexes on a ledger with a history: many finished jobs, and many scheduled ones."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from storage import ledger
from storage.database import Database
from storage.queries import statement
from tests.factories import LEASE, enqueue_one, make_job_type, make_org
from tests.waiting import eventually

FINISHED = 40_000
SCHEDULED = 20_000
WAITING = 10_000


@pytest.fixture
def history(database: Connection, store: Database) -> Connection:
    """A ledger that has been in use: made by one statement, because only the shape of the data matters."""
    make_job_type(store)
    org = make_org(database)
    columns = (
        "org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type, actor_id, request_id,"
        " correlation_id, max_attempts, deadline"
    )
    values = (
        "%(org)s, 'probe.run', 'default', '{}', 1, 'k' || n, false, 'system', 'x', 'r', 'c', 5, interval '5 minutes'"
    )
    database.execute(
        f"insert into jobs ({columns}, state, finished_at, run_at) select {values}, 'succeeded', now(), now()"
        " from generate_series(1, %(count)s) n",
        {"org": org, "count": FINISHED},
    )
    database.execute(
        f"insert into jobs ({columns}, run_at, attention_at) select {values}, now() + n * interval '1 second',"
        " now() + n * interval '1 second' from generate_series(1, %(count)s) n",
        {"org": org, "count": SCHEDULED},
    )
    others = [make_org(database, f"org {n}") for n in range(50)]
    database.execute(
        f"insert into jobs ({columns}, backlog_since)"
        f" select {values.replace('%(org)s', '(%(orgs)s::uuid[])[1 + n %% 50]')}, now()"
        " from generate_series(1, %(count)s) n",
        {"orgs": others, "count": WAITING},
    )
    database.execute(
        f"insert into jobs ({columns}, parked_by) select {values}, case n %% 2 when 0 then 'gate:queue:default'"
        " else 'key:probe.run:' || n / 20 end from generate_series(1, %(count)s) n",
        {"org": org, "count": WAITING},
    )
    database.execute("vacuum analyze jobs")
    return database


def scans_of_jobs(database: Connection, name: str, **parameters: Any) -> set[str]:  # noqa: ANN401 - any statement's values
    """How a statement finds its rows in `jobs`, as the planner says."""
    row = database.execute(f"explain (format json) {statement(name)}", parameters).fetchone()
    assert row is not None
    plan = row[0] if isinstance(row[0], list) else json.loads(row[0])
    return {f"{node['Node Type']} {node.get('Index Name', '')}".strip() for node in walk(plan[0]["Plan"])}


def walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node.get("Relation Name") == "jobs" and "Scan" in node["Node Type"]:
        yield node
    if "Bitmap Index Scan" in node["Node Type"] and node["Index Name"].startswith("jobs"):
        yield node
    for child in node.get("Plans", []):
        yield from walk(child)


@pytest.mark.parametrize(
    ("name", "parameters", "index"),
    [
        (
            "claim_jobs",
            {
                "job_ids": [uuid4()],
                "token": uuid4(),
                "worker_id": uuid4(),
                "lease": timedelta(seconds=60),
                "starts": [True],
            },
            "jobs_pkey",
        ),
        ("publish_due", {"batch": 500, "patience": timedelta(seconds=30), "burst": 20}, "jobs_attention"),
        ("list_backlog", {"queues": ["default", "exports"]}, "jobs_backlog"),
        ("list_waiting_orgs", {"queue": "default", "priority": 0, "start": UUID(int=0), "most": 500}, "jobs_backlog"),
        (
            "publish_backlog",
            {
                "queue": "default",
                "priority": 0,
                "org_ids": [UUID(int=0)],
                "quotas": [500],
                "weights": [1],
                "patience": timedelta(seconds=30),
            },
            "jobs_backlog",
        ),
        ("list_parks", {"after": "", "most": 500, "batch": 1000}, "jobs_parked"),
        ("unpark_jobs", {"names": ["gate:queue:default"], "rooms": [1000]}, "jobs_parked"),
        ("mark_crowds", {"queue": "default", "burst": 20, "newest": 2000}, "jobs_pkey"),
        ("clear_crowds", {"queues": ["default"], "priorities": [0]}, "jobs_backlog"),
        ("rescue_jobs", {"batch": 500, "max_losses": 3}, "jobs_attention"),
        ("recall_hints", {"batch": 1000}, "jobs_attention"),
        ("return_claims", {"node_id": uuid4(), "lease": timedelta(seconds=60)}, "jobs_attention"),
        ("delete_finished_jobs", {"keep_for": timedelta(days=7), "batch": 1000}, "jobs_finished"),
    ],
)
def test_a_hot_statement_never_reads_the_whole_ledger(
    history: Connection, name: str, parameters: dict[str, Any], index: str
) -> None:
    scans = scans_of_jobs(history, name, **parameters)
    assert not [scan for scan in scans if scan.startswith("Seq Scan")], scans
    assert any(index in scan for scan in scans), scans


def test_settling_finds_its_jobs_by_their_ids(history: Connection) -> None:
    one: dict[str, Any] = {
        "job_ids": [uuid4()], "tokens": [uuid4()], "states": ["succeeded"], "run_ats": [None], "attempt_deltas": [0],
        "loss_deltas": [0], "started_ats": [None],
        "outputs": [None], "errors": [None], "costs": [0], "reasons": [None], "events": ["job.succeeded"],
        "details": [None],
    }  # fmt: skip
    scans = scans_of_jobs(history, "settle_jobs", **one)
    assert not [scan for scan in scans if scan.startswith("Seq Scan")], scans
    assert any("jobs_pkey" in scan for scan in scans), scans


def test_a_claim_is_a_heap_only_update(history: Connection, store: Database) -> None:
    """No index has to change when a job is claimed: an index that named the state would end that."""
    org = make_org(history, "another org")
    ids = [enqueue_one(store, org) for _ in range(20)]
    before = hot_updates(history)
    with store.ledger() as tx:
        claimed = ledger.claim(tx, ids, uuid4(), lease=LEASE)
        tx.raw("select pg_stat_force_next_flush()")
    assert len(claimed.jobs) == 20
    # A page filled to 70% has room for some of its rows' next versions; with an index in the way it would be none.
    assert eventually(lambda: hot_updates(history) - before, within=5, describe="the claims' statistics") >= 5


def hot_updates(database: Connection) -> int:
    database.execute("select pg_stat_force_next_flush()")
    row = database.execute("select n_tup_hot_upd from pg_stat_user_tables where relname = 'jobs'").fetchone()
    assert row is not None
    return int(row[0])
