"""The table of jobs: what a row has, by which indexes it is found, and how it is taken, begun and left to others."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.errors import CheckViolation, NotNullViolation

from domain.jobs.job import NewJob
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, LEASE, enqueue_one, make_job_type, make_org, make_worker

FRESH: dict[str, object] = {
    "job_type": "probe.run",
    "state": "queued",
    "payload": {},
    "output": None,
    "error": None,
    "priority": 0,
    "attempt": 0,
    "max_attempts": 5,
    "expires_at": None,
    "claimed_at": None,
    "started_at": None,
    "finished_at": None,
}
"""What stands in the row of a job of which nothing was said."""


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


def row_of(database: Connection, job_id: UUID) -> dict[str, object]:
    found = database.execute("select to_jsonb(j) from jobs j where id = %s", (job_id,)).fetchone()
    assert found is not None
    row: dict[str, object] = found[0]
    return row


def test_ac_01_jobs_table_exists_with_correct_schema(store: Database, database: Connection, org: UUID) -> None:
    """Defaults, rules and the fence of a row (docs: seeds.md#003-1)."""
    job_id = enqueue_one(store, org)
    row = row_of(database, job_id)
    assert {name: row[name] for name in FRESH} == FRESH
    assert (row["id"], row["org_id"], row["run_at"]) == (str(job_id), str(org), row["created_at"])
    assert database.execute("select postroom.updated_at(%s) >= created_at from jobs", (job_id,)).fetchone() == (True,)
    for change, refusal in (
        ("state = 'processing'", CheckViolation),
        ("job_type = null", NotNullViolation),
        ("org_id = null", NotNullViolation),
    ):
        with pytest.raises(refusal):
            database.execute(f"update jobs set {change}".encode())
    with store.tenant(make_org(database, "another org")) as tx:
        assert tx.raw("select from jobs") == []


def test_ac_02_polling_indexes_exist(database: Connection) -> None:
    """Each is partial, over jobs that wait; which statement reads which is shown by plans (docs: seeds.md#003-20)."""
    rows = database.execute(
        "select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, 1, true), pg_get_expr(indpred, indrelid)"
        " from pg_index i where indrelid = 'jobs'::regclass and indexrelid::regclass::text = any (%s)",
        (["jobs_next_check", "jobs_backlog", "jobs_parked"],),
    ).fetchall()
    assert sorted(rows) == [
        ("jobs_backlog", "queue", "(backlog_since IS NOT NULL)"),
        ("jobs_next_check", "next_check_at", "(next_check_at IS NOT NULL)"),
        ("jobs_parked", "parked_by", "(parked_by IS NOT NULL)"),
    ]


def test_ac_08_create_job_returns_id(store: Database, database: Connection, org: UUID) -> None:
    """With all that a caller may say; before its time nobody can claim it (docs: seeds.md#003-31)."""
    now = datetime.now(UTC)
    asked = NewJob(
        "probe.run", org, {"n": 1}, priority=7, max_attempts=2, run_at=now + timedelta(hours=1),
        expires_at=now + timedelta(hours=2),
    )  # fmt: skip
    with store.ledger() as tx:
        (made,) = ledger.enqueue(tx, [asked], publisher=True, hint_timeout=HINT_TIMEOUT)
    query = "select state, payload, priority, max_attempts, run_at, expires_at from jobs where id = %s"
    row = database.execute(query, (made.job_id,)).fetchone()
    assert row == ("queued", {"n": 1}, 7, 2, asked.run_at, asked.expires_at)
    with store.ledger() as tx:
        claims = ledger.claim(tx, [made.job_id], make_worker(store).worker_id, lease=LEASE)
    assert (claims.jobs, claims.refused) == ((), {made.job_id: "early"})


def test_ac_09_claim_next_skip_locked(store: Database, org: UUID) -> None:
    """A job that another claim holds is left out without waiting for that claim's end (docs: seeds.md#003-33)."""
    first, second = enqueue_one(store, org), enqueue_one(store, org)
    one, other = make_worker(store), make_worker(store)
    with store.ledger() as tx, store.ledger() as beside:
        held = ledger.claim(tx, [first], one.worker_id, lease=LEASE)
        taken = ledger.claim(beside, [first, second], other.worker_id, lease=LEASE)
    assert [[job.job_id for job in each.jobs] for each in (held, taken)] == [[first], [second]]


def test_ac_10_mark_running_transition(store: Database, database: Connection, org: UUID) -> None:
    """A claimed job begins in its turn, under its claim only (docs: seeds.md#003-34)."""
    job_id = enqueue_one(store, org)
    with store.ledger() as tx:
        (job,) = ledger.claim(tx, [job_id], make_worker(store).worker_id, lease=LEASE).jobs
        began = ledger.read_time(tx)
    assert (row_of(database, job_id)["state"], row_of(database, job_id)["started_at"]) == ("claimed", None)
    with store.ledger() as tx:
        ledger.record_starts(tx, [(job_id, org, began)])
    assert row_of(database, job_id)["state"] == "claimed", "an org's id is no claim"
    with store.ledger() as tx:
        ledger.record_starts(tx, [(job_id, job.token, began)])
    query = "select state, started_at, attempt from jobs where id = %s"
    assert database.execute(query, (job_id,)).fetchone() == ("running", began, 1)
