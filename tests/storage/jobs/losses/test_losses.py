"""Who is charged when a process dies: a job that ran alone; the others are excused, and run alone next time."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob, Snooze
from domain.jobs.lifecycle import MAX_LOSSES, MOST_REFUSED_SUSPECTS, Settlement, settlement_of
from domain.jobs.retry import MOST_RETURNS, MOST_SNOOZES, STANDARD
from storage.jobs import ledger, recovery
from storage.postgres.database import Database
from tests.doubles.factories import LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker, pass_time
from tests.invariants import find_gaps


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store, max_attempts=3)
    return make_org(database)


def standing(database: Connection, job_id: UUID) -> tuple[object, ...]:
    """State, attempts, losses and whether it is suspect."""
    row = database.execute("select state, attempt, losses, suspect from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return tuple(row)


def claim_all(store: Database, job_ids: list[UUID]) -> list[ClaimedJob]:
    """Claims of one process."""
    worker = make_worker(store)
    return [claim_one(store, job_id, worker) for job_id in job_ids]


def die(store: Database, database: Connection) -> None:
    """Every process falls silent, and the relay notices."""
    pass_time(database, LEASE + timedelta(seconds=1))
    with store.ledger() as tx:
        recovery.rescue(tx, batch=100)


def settle(store: Database, *settlements: Settlement) -> None:
    with store.statements() as tx:
        assert ledger.settle(tx, settlements).refused == ()


def requeue(database: Connection) -> None:
    """Make what waits for its time due now."""
    database.execute("update jobs set run_at = now(), next_check_at = now() where next_check_at is not null")


def test_neighbours_of_a_killer_outlive_more_kills_than_they_have_attempts(
    store: Database, database: Connection, org: UUID
) -> None:
    jobs = [enqueue_one(store, org) for _ in range(3)]
    for kills in range(10):
        # A worker that cannot wait for an empty one runs them together, and nobody is marked.
        database.execute("update jobs set suspect = false")
        claim_all(store, jobs)
        die(store, database)
        assert [standing(database, job_id) for job_id in jobs] == [("queued", 0, 0, True)] * 3, kills
    assert find_gaps(database, resting=False) == []


def test_a_suspect_that_ran_alone_is_charged(store: Database, database: Connection, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    claim_one(store, job_id)
    die(store, database)
    for losses in range(1, MAX_LOSSES + 1):
        requeue(database)
        assert claim_one(store, job_id).suspect
        die(store, database)
        state = "dead" if losses == MAX_LOSSES else "queued"
        assert standing(database, job_id) == (state, losses, losses, state == "queued")


@pytest.mark.parametrize("how", ["unstarted", "returned"])
def test_a_suspect_that_its_worker_gives_back_stays_one(
    store: Database, database: Connection, org: UUID, how: str
) -> None:
    job_id = enqueue_one(store, org)
    claim_one(store, job_id)
    die(store, database)
    job = claim_one(store, job_id)
    back = Settlement.unstarted(job, "no slot became free") if how == "unstarted" else Settlement.returned(job, "stop")
    settle(store, back)
    assert standing(database, job_id) == ("queued", 0, 0, True)


def test_a_suspect_that_finds_no_empty_worker_runs_beside_others_in_the_end(
    store: Database, database: Connection, org: UUID
) -> None:
    job_id = enqueue_one(store, org)
    claim_one(store, job_id)
    die(store, database)
    worker, refused = make_worker(store), 0
    while True:
        with store.ledger() as tx:
            claims = ledger.claim(tx, [job_id], worker.worker_id, lease=LEASE, alone=False)
        if claims.jobs:
            break
        assert claims.refused == {job_id: "suspect"}
        assert refused < MOST_REFUSED_SUSPECTS
        refused += 1
        requeue(database)
    assert refused == MOST_REFUSED_SUSPECTS


def test_a_job_that_always_loses_its_own_claim_uses_its_attempts_up(
    store: Database, database: Connection, org: UUID
) -> None:
    job_id, rounds = enqueue_one(store, org), 0
    while standing(database, job_id)[0] == "queued":
        job, now = claim_one(store, job_id), datetime.now(UTC)
        settle(store, settlement_of(job, ClaimLost("too little time"), STANDARD, now, 0.0).begun(now))
        requeue(database)
        rounds += 1
    assert (rounds, standing(database, job_id)) == (MOST_RETURNS + 3, ("dead", 3, 0, False))


def test_a_job_that_only_snoozes_ends(store: Database, database: Connection, org: UUID) -> None:
    job_id = enqueue_one(store, org)
    database.execute("update jobs set free_returns = %s", (MOST_SNOOZES - 1,))
    for state, attempt in [("queued", 0), ("queued", 1), ("queued", 2), ("dead", 3)]:
        job, now = claim_one(store, job_id), datetime.now(UTC)
        settle(store, settlement_of(job, Snooze(now, "still waiting"), STANDARD, now, 0.0).begun(now))
        assert standing(database, job_id) == (state, attempt, 0, False)
        requeue(database)
    row = database.execute("select error ->> 'code', error ->> 'reason' from jobs").fetchone()
    assert row == ("snoozed", f"came back {MOST_SNOOZES} times: still waiting")


def test_a_snooze_into_the_past_rests_all_the_same(store: Database, database: Connection, org: UUID) -> None:
    job, now = claim_one(store, enqueue_one(store, org)), datetime.now(UTC)
    settle(store, settlement_of(job, Snooze(now - timedelta(days=1), "already"), STANDARD, now, 0.0).begun(now))
    row = database.execute("select run_at > %s, backlog_since is null from jobs", (now,)).fetchone()
    assert row == (True, True)
