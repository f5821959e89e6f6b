"""The checker of the ledger's invariants sees what is wrong; otherwise every test that relies on it would be blind."""

import pytest
from psycopg import Connection

from domain.jobs.job import State
from domain.jobs.lifecycle import Settlement
from domain.jobs.monitoring.consistency import find_gap
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.invariants import check_calls, check_ledger

ENQUEUED, STARTED, SUCCEEDED = ("job.enqueued", 0), ("job.started", 1), ("job.succeeded", 1)


@pytest.mark.parametrize(
    ("events", "ends_in", "attempt"),
    [
        ([], State.QUEUED, 0),  # no event at all
        ([STARTED, SUCCEEDED], State.SUCCEEDED, 1),  # never enqueued
        ([ENQUEUED, SUCCEEDED], State.SUCCEEDED, 0),  # never started
        ([ENQUEUED, STARTED, STARTED], State.RUNNING, 1),  # started twice
        ([ENQUEUED, STARTED, SUCCEEDED, SUCCEEDED], State.SUCCEEDED, 1),  # settled twice
        ([ENQUEUED, STARTED, SUCCEEDED, ("job.cancel_requested", 1)], State.SUCCEEDED, 1),  # something after the end
        ([ENQUEUED, ("job.started", 2)], State.RUNNING, 2),  # an attempt is missing
        ([ENQUEUED, STARTED], State.SUCCEEDED, 1),  # the end is not audited
    ],
)
def test_a_gap_in_the_events_is_seen(events: list[tuple[str, int]], ends_in: State, attempt: int) -> None:
    assert find_gap(events, ends_in, attempt, dead_on_arrival=False) is not None


def test_a_complete_log_is_fine() -> None:
    ended = [ENQUEUED, STARTED, SUCCEEDED, ("job.hook_failed", 1)]
    assert find_gap(ended, State.SUCCEEDED, 1, dead_on_arrival=False) is None
    given_back = [ENQUEUED, STARTED, ("job.retried", 0), STARTED, ("job.cancel_requested", 1), SUCCEEDED]
    assert find_gap(given_back, State.SUCCEEDED, 1, dead_on_arrival=False) is None


PARK = "update jobs set next_check_at = null, published_at = null"
WAITING = "where state = 'queued'"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("update idempotency_keys set status = 'succeeded'", "its guard says succeeded"),
        ("update idempotency_keys set job_id = (select id from jobs where state = 'queued')", "whose key it is not"),
        (
            "insert into serial_slots (serial_key, slot, job_id) select 'k', 1, gen_random_uuid()",
            "the slot 1 of k is held",
        ),
        (
            "insert into serial_slots (serial_key, slot, job_id) select 'k', n, uuidv7() from generate_series(1, 2) n",
            "2 jobs",
        ),
        ("update jobs set serial_key = 'k' where state = 'running'", "is held without a slot of k"),
        (f"{PARK}, parked_by = 'key:other', serial_key = 'k' {WAITING}", "with the key k is parked by key:other"),
        (f"{PARK}, parked_by = 'key:k', serial_key = 'k' {WAITING}", "jobs are parked by k, which has room"),
        (f"{PARK}, parked_by = 'gate:queue:default' {WAITING}", "jobs are parked by gate:queue:default, which is open"),
        ("update jobs set attempt = 2", "it ends in running, attempt 1"),
        ("delete from dead_letters", "dead jobs without a letter"),
    ],
)
def test_a_damaged_ledger_is_seen(store: Database, database: Connection, damage: str, message: str) -> None:
    org = make_org(database)
    make_job_type(store)
    enqueue_one(store, org)
    claim_one(store, enqueue_one(store, org, idempotency_key="key"))
    dead = claim_one(store, enqueue_one(store, org))
    with store.ledger() as tx:
        assert not ledger.settle(tx, [Settlement(dead.job_id, dead.token, State.DEAD, error={"code": "x"})]).refused
    check_ledger(database, open_jobs=2)
    database.execute(damage.encode())
    with pytest.raises(AssertionError, match=message):
        check_ledger(database, open_jobs=2)


def test_a_second_call_is_seen() -> None:
    check_calls(["a", "b"])
    with pytest.raises(AssertionError):
        check_calls(["a", "b", "a"])
