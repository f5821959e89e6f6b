"""The audit log: every event with its own time and claim, whether it is an entry of its own or half of one."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from domain.jobs.failures import Forbidden
from domain.jobs.job import ClaimedJob, Done, Outcome, Snooze
from domain.jobs.lifecycle import Settlement, settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import ledger
from storage.jobs.ledger import Worker
from storage.postgres.database import Database
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker

NOW = datetime.now(UTC)
BEGAN = NOW - timedelta(minutes=5)


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store)
    return make_org(database)


@pytest.fixture
def worker(store: Database) -> Worker:
    return make_worker(store)


@pytest.fixture
def claimed(store: Database, database: Connection, org: UUID, worker: Worker) -> ClaimedJob:
    """A job that was claimed a day ago, before `BEGAN` however long the suite takes; nobody has written its start."""
    job_id = enqueue_one(store, org)
    with store.ledger() as tx:
        (job,) = ledger.claim(tx, [job_id], worker.worker_id, lease=LEASE).jobs
    assert not job.started
    database.execute("update jobs set claimed_at = claimed_at - interval '1 day'")
    return job


def write(store: Database, job: ClaimedJob, outcome: Outcome, began_at: datetime | None = BEGAN) -> None:
    settlement = settlement_of(job, outcome, STANDARD, NOW, 0.0, began_at=began_at)
    with store.ledger() as tx:
        assert not ledger.settle(tx, [settlement]).refused


def audited(database: Connection, job_id: UUID) -> list[dict[str, Any]]:
    with database.cursor(row_factory=dict_row) as cursor:
        query = "select * from audit_log where job_id = %s and event <> 'job.enqueued' order by id"
        return cursor.execute(query, (job_id,)).fetchall()


def entries(database: Connection, job_id: UUID) -> list[tuple[Any, ...]]:
    columns, but = "event, began_at is not null", "event <> 'job.enqueued'"
    query = f"select {columns} from audit_entries where job_id = %s and {but} order by id"
    return database.execute(query.encode(), (job_id,)).fetchall()


def held_since(database: Connection, job_id: UUID) -> datetime:
    row = database.execute("select claimed_at from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    at: datetime = row[0]
    return at


def test_a_quick_success_is_one_entry_and_two_events(
    store: Database, database: Connection, worker: Worker, claimed: ClaimedJob
) -> None:
    taken_at = held_since(database, claimed.job_id)
    write(store, claimed, Done({"n": 1}))
    assert entries(database, claimed.job_id) == [("job.succeeded", True)]
    started, succeeded = audited(database, claimed.job_id)
    assert (started["event"], started["at"], started["attempt"]) == ("job.started", BEGAN, 1)
    assert (started["worker_id"], started["claimed_at"]) == (worker.worker_id, taken_at)
    assert (succeeded["event"], succeeded["attempt"]) == ("job.succeeded", 1)
    assert succeeded["at"] >= taken_at
    assert (succeeded["worker_id"], succeeded["claimed_at"]) == (None, None)
    same = set(started) - {"id", "at", "event", "worker_id", "claimed_at", "data"}
    assert {name: started[name] for name in same} == {name: succeeded[name] for name in same}


def test_a_job_that_succeeds_in_its_handlers_transaction_has_the_same_log(
    store: Database, database: Connection, worker: Worker, claimed: ClaimedJob
) -> None:
    taken_at = held_since(database, claimed.job_id)
    with store.claimed(claimed.org_id, claimed.job_id, claimed.token) as tx:
        ledger.settle_held(tx, claimed, {}, 0, began_at=BEGAN)
    assert entries(database, claimed.job_id) == [("job.succeeded", True)]
    events = [(row["event"], row["worker_id"], row["claimed_at"]) for row in audited(database, claimed.job_id)]
    assert events == [("job.started", worker.worker_id, taken_at), ("job.succeeded", None, None)]


def test_who_does_not_say_when_it_began_has_begun_by_its_end(
    store: Database, database: Connection, claimed: ClaimedJob
) -> None:
    """As a handler's own SQL may."""
    end = "select postroom.settle_held(%(job)s, %(token)s, '{}', 0, null)"
    with store.claimed(claimed.org_id, claimed.job_id, claimed.token) as tx:
        tx.raw(end, {"job": claimed.job_id, "token": claimed.token})
    assert [row["event"] for row in audited(database, claimed.job_id)] == ["job.started", "job.succeeded"]


@pytest.mark.parametrize(
    ("columns", "values"),
    [("id", "overriding system value values (1"), ("at", "values (now()"), ("began_at", "values (now()")],
    ids=["number", "time", "start"],
)
def test_a_handler_chooses_neither_number_nor_time_of_an_event(
    store: Database, org: UUID, columns: str, values: str
) -> None:
    event = "org_id, event, actor_type, actor_id, request_id, correlation_id"
    insert = f"insert into audit_entries ({columns}, {event}) {values}, %(org)s, 'a.b', 'user', 'a', 'r', 'c')"
    with pytest.raises(Forbidden), store.tenant(org) as tx:
        tx.raw(insert, {"org": org})


def test_a_start_that_was_written_is_not_told_again(store: Database, database: Connection, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    assert job.started
    write(store, job, Done())
    assert entries(database, job.job_id) == [("job.started", False), ("job.succeeded", False)]
    assert [row["event"] for row in audited(database, job.job_id)] == ["job.started", "job.succeeded"]


def test_an_attempt_that_comes_back_is_two_entries(store: Database, database: Connection, claimed: ClaimedJob) -> None:
    """Its events count different attempts: a snooze gives its own back."""
    write(store, claimed, Snooze(NOW + timedelta(hours=1), "later"))
    assert entries(database, claimed.job_id) == [("job.started", False), ("job.retried", False)]
    assert [(row["event"], row["attempt"]) for row in audited(database, claimed.job_id)] == [
        ("job.started", 1),
        ("job.retried", 0),
    ]


def test_a_claim_that_goes_back_unbegun_is_told_as_a_claim(
    store: Database, database: Connection, worker: Worker, claimed: ClaimedJob
) -> None:
    with store.ledger() as tx:
        ledger.settle(tx, [Settlement.unstarted(claimed, "shutdown")])
    events = [(row["event"], row["worker_id"]) for row in audited(database, claimed.job_id)]
    assert events == [("job.claimed", worker.worker_id), ("job.retried", None)]


def test_events_have_numbers_of_their_own_in_their_order(store: Database, database: Connection, org: UUID) -> None:
    for starts in (False, True, False):
        job_id = enqueue_one(store, org)
        with store.ledger() as tx:
            (job,) = ledger.claim(tx, [job_id], make_worker(store).worker_id, lease=LEASE).jobs
            if starts:
                ledger.record_starts(tx, [(job.job_id, job.token, BEGAN)])
        write(store, job, Done(), began_at=None if starts else BEGAN)
    numbers = [row[0] for row in database.execute("select id from audit_log order by id")]
    assert len(set(numbers)) == len(numbers) == 9
    read_on = database.execute("select event from audit_log where id > %s order by id", (numbers[6],)).fetchall()
    assert read_on == [("job.started",), ("job.succeeded",)]


@pytest.mark.parametrize(
    "change", ["update audit_entries set event = event", "delete from audit_entries", "truncate audit_entries"]
)
def test_nobody_changes_the_log(database: Connection, claimed: ClaimedJob, change: str) -> None:
    assert claimed.attempt == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="append-only"):
        database.execute(change)
    with pytest.raises(psycopg.Error, match="audit_log"):
        database.execute(change.replace("audit_entries", "audit_log"))


def test_only_a_success_tells_of_a_start_too(database: Connection, org: UUID) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        database.execute(
            "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id, began_at)"
            " values ('job.failed', %s, 'system', 'x', 'x', 'x', now())",
            (org,),
        )
