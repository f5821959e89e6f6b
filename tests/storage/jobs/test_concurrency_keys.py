"""Concurrency keys: as many jobs of a key as it has slots, who waits is parked and called, and no call is lost."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.job import ClaimedJob, Origin, State
from domain.jobs.lifecycle import Settlement
from storage.jobs import ledger, recovery, relay
from storage.jobs.answers import ClaimResult
from storage.postgres.database import Database
from tests.doubles.factories import (
    LEASE,
    claim_demanded,
    enqueue_one,
    make_job_type,
    make_org,
    make_worker,
    pass_time,
    relay_once,
)
from tests.invariants import check_ledger
from tests.waiting import eventually, patient

WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "probe.one", serial_field="account_id")
    make_job_type(store, "probe.three", serial_field="account_id", serial_limit=3)
    return make_org(database)


def enqueue(store: Database, org: UUID, count: int, job_type: str = "probe.one", **given: object) -> list[UUID]:
    return [enqueue_one(store, org, job_type, payload={"account_id": "a"}, **given) for _ in range(count)]


def claim(store: Database, job_ids: Sequence[UUID]) -> ClaimResult:
    with patient(store.ledger()) as tx:
        return ledger.claim(tx, job_ids, make_worker(store).worker_id, lease=LEASE)


def finish(store: Database, jobs: Sequence[ClaimedJob]) -> list[UUID]:
    """Settle jobs; returns those that were called."""
    with patient(store.ledger()) as tx:
        settled = ledger.settle(tx, [Settlement(job.job_id, job.token, State.SUCCEEDED) for job in jobs])
    return [hint.job_id for hint in settled.hints]


def test_a_key_has_as_many_slots_as_its_type_says(store: Database, org: UUID) -> None:
    job_ids = enqueue(store, org, 8, "probe.three")
    other = enqueue_one(store, org, "probe.three", payload={"account_id": "b"})
    claims = claim(store, [*job_ids, other])
    held = [job for job in claims.jobs if job.job_id != other]
    assert {job.job_id for job in held} == set(job_ids[:3])
    assert claims.refused == dict.fromkeys(job_ids[3:], "serial")
    assert other in {job.job_id for job in claims.jobs}
    # Two settle at once: two are called, the oldest ones, and they fit.
    called = finish(store, held[:2])
    assert set(called) == set(job_ids[3:5])
    assert len(claim(store, called).jobs) == 2
    assert claim(store, job_ids[5:]).jobs == ()


def test_a_job_that_was_hinted_at_twice_takes_one_slot(store: Database, database: Connection, org: UUID) -> None:
    first, second, third = enqueue(store, org, 3, "probe.three")
    claims = claim(store, [first, first, second, first, third, second])
    assert sorted(job.job_id for job in claims.jobs) == sorted([first, second, third])
    assert database.execute("select count(*) from serial_slots").fetchone() == (3,)
    check_ledger(database, open_jobs=3)


def test_the_most_urgent_is_called_first_and_then_the_oldest(store: Database, org: UUID) -> None:
    first, old, young = enqueue(store, org, 3)
    [urgent] = enqueue(store, org, 1, priority=5)
    held = claim(store, [first]).jobs
    assert set(claim(store, [young, old, urgent]).refused.values()) == {"serial"}
    for expected in (urgent, old, young):
        assert finish(store, held) == [expected]
        held = claim(store, [expected]).jobs
    assert finish(store, held) == []


def test_a_lowered_limit_takes_effect_as_slots_are_freed(store: Database, org: UUID) -> None:
    job_ids = enqueue(store, org, 5, "probe.three")
    held = claim(store, job_ids[:3]).jobs
    make_job_type(store, "probe.three", serial_field="account_id", serial_limit=1)
    finish(store, held[:2])
    assert claim(store, job_ids[3:]).jobs == ()
    finish(store, held[2:])
    assert len(claim(store, job_ids[3:]).jobs) == 1


def test_a_rescue_and_a_shutdown_free_the_slots_too(database: Connection, store: Database, org: UUID) -> None:
    first, second, third = enqueue(store, org, 3)
    claim(store, [first])
    claim(store, [second, third])
    pass_time(database, LEASE + timedelta(seconds=1))
    with store.ledger() as tx:
        moved = recovery.rescue(tx, batch=10)
    assert [hint.job_id for hint in moved.hints] == [second]
    worker = make_worker(store)
    with store.ledger() as tx:
        ledger.claim(tx, [second], worker.worker_id, lease=LEASE)
    with store.ledger() as tx:
        moved = recovery.return_claims(tx, worker.node_id, LEASE)
    assert [hint.job_id for hint in moved.hints] == [third]
    check_ledger(database, open_jobs=3)


@pytest.mark.parametrize("how", ["canceled", "expired"])
def test_a_called_job_that_does_not_come_passes_the_call_on(
    database: Connection, store: Database, org: UUID, how: str
) -> None:
    first, called, last = enqueue(store, org, 3)
    held = claim(store, [first]).jobs
    claim(store, [called, last])
    assert finish(store, held) == [called]
    if how == "canceled":
        with store.ledger() as tx:
            ledger.cancel(tx, [called], "not needed", by=Origin())
    else:
        database.execute("update jobs set expires_at = now() where id = %s", (called,))
        assert claim(store, [called]).refused == {called: "expired"}
        with store.ledger() as tx:
            ledger.end_unclaimed(tx, [called])
    relay_once(store)
    assert claim_demanded(store) == [last]


def test_a_waiting_job_can_be_canceled_and_is_not_called(store: Database, org: UUID) -> None:
    first, gone, last = enqueue(store, org, 3)
    held = claim(store, [first]).jobs
    claim(store, [gone, last])
    with store.ledger() as tx:
        assert ledger.cancel(tx, [gone], "not needed", by=Origin()) == {gone: "canceled"}
    assert finish(store, held) == [last]


def test_who_frees_a_slot_sees_the_job_that_was_parked_meanwhile(
    database: Connection, store: Database, org: UUID
) -> None:
    """The claim that parks a job keeps the holders of its key until it commits, so that no call is lost."""
    first, second = enqueue(store, org, 2)
    held = claim(store, [first]).jobs
    worker = make_worker(store)
    with ThreadPoolExecutor(1) as pool:
        with store.ledger() as tx:
            assert ledger.claim(tx, [second], worker.worker_id, lease=LEASE).refused == {second: "serial"}
            settling = pool.submit(finish, store, held)
            eventually(
                lambda: database.execute(WAITING).fetchone() == (1,),
                describe="the settlement to wait for the claim",
            )
        assert settling.result(timeout=10) == [second]


def test_who_comes_while_a_slot_is_being_freed_comes_again_soon(store: Database, org: UUID) -> None:
    """Who frees a slot looks for waiting jobs before its commit: one that was parked after that would not be called."""
    first, second = enqueue(store, org, 2)
    (held,) = claim(store, [first]).jobs
    with store.ledger() as tx, store.session() as relays:
        relay.listen(relays)
        ledger.settle(tx, [Settlement(held.job_id, held.token, State.SUCCEEDED)])
        assert claim(store, [second]).refused == {second: "freeing"}
        assert relay.wait(relays, 10), "the relay is woken"
        assert claim_demanded(store) == [], "it is not freed yet"
        assert relay.wait(relays, 0.0) == set(), "who comes from the backlog wakes nobody"
    assert claim_demanded(store) == [second]


def test_two_claims_of_one_key_do_not_share_a_slot(store: Database, database: Connection, org: UUID) -> None:
    """The second waits for the first to commit, and is refused then."""
    first, second = enqueue(store, org, 2)
    worker = make_worker(store)
    with ThreadPoolExecutor(1) as pool:
        with store.ledger() as tx:
            assert len(ledger.claim(tx, [first], worker.worker_id, lease=LEASE).jobs) == 1
            claiming = pool.submit(claim, store, [second])
            eventually(
                lambda: database.execute(WAITING).fetchone() == (1,),
                describe="the second claim to wait for the first",
            )
        assert claiming.result(timeout=10).refused == {second: "serial"}


def test_many_jobs_behind_one_key_are_looked_at_once(database: Connection, store: Database, org: UUID) -> None:
    job_ids = enqueue(store, org, 50)
    held = claim(store, job_ids).jobs
    before = database.execute("select sum(xmin::text::bigint) from jobs").fetchone()
    for _ in range(3):
        assert relay_once(store) == []
    assert database.execute("select sum(xmin::text::bigint) from jobs").fetchone() == before
    assert len(finish(store, held)) == 1


def test_a_lost_call_is_made_up_for(database: Connection, store: Database, org: UUID) -> None:
    first, second = enqueue(store, org, 2)
    claim(store, [first])
    claim(store, [second])
    database.execute("delete from serial_slots")
    assert relay_once(store) == []
    assert claim_demanded(store) == [second]
