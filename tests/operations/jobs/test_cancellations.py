"""Canceling a job cancels what descends from it: once each, within its org, and only where somebody waits."""

from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.job import SYSTEM_ORG, Cancel, Done, Origin, Outcome, State
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from operations.jobs import cancellations
from operations.jobs.cancellations import MOST_LEVELS, CancellationResult
from storage.jobs import ledger
from storage.postgres.database import Database
from storage.postgres.execution import RowLocked
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW

ADA = Origin(actor_id="ada")


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def end(store: Database, job_id: UUID, outcome: Outcome) -> None:
    job = claim_one(store, job_id)
    with store.ledger() as tx:
        ledger.settle(tx, [settlement_of(job, outcome, STANDARD, NOW, 0.0)])


def cancel(store: Database, *job_ids: UUID, org_id: UUID | None = None, children: bool = True) -> CancellationResult:
    return cancellations.cancel(store, job_ids, "not needed", by=ADA, org_id=org_id, children=children)


def state(database: Connection, job_id: UUID) -> str:
    row = database.execute("select state from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return str(row[0])


def events(database: Connection, event: str) -> list[UUID]:
    query = "select job_id from audit_log where event = %s and actor_id = 'ada' order by id"
    return [row[0] for row in database.execute(query, (event,))]


def test_descendants_are_canceled_where_they_wait_and_asked_where_they_run(
    store: Database, org: UUID, database: Connection
) -> None:
    root = enqueue_one(store, org)
    waiting = enqueue_one(store, org, parent_id=root)
    running = enqueue_one(store, org, parent_id=root)
    done = enqueue_one(store, org, parent_id=root)
    below_done = enqueue_one(store, org, parent_id=done)
    stranger = enqueue_one(store, org)
    held = claim_one(store, running)
    end(store, done, Done({"kept": 1}))

    got = cancel(store, root)
    assert got.asked == {root: "canceled"}
    assert got.descendants == {waiting: "canceled", running: "running", below_done: "canceled"}
    assert [state(database, job) for job in (done, stranger)] == ["succeeded", "queued"]
    with store.statements() as tx:
        assert ledger.cancel_requested(tx, running, held.token) == "not needed"
    assert sorted(events(database, "job.canceled")) == sorted([root, waiting, below_done])
    assert events(database, "job.cancel_requested") == [running]


def test_asking_again_finds_what_came_since_and_repeats_nothing(
    store: Database, org: UUID, database: Connection
) -> None:
    """A cancellation that was cut off after the job itself is completed by the next."""
    root = enqueue_one(store, org)
    running = enqueue_one(store, org, parent_id=root)
    claim_one(store, running)
    assert cancel(store, root).descendants == {running: "running"}
    late = enqueue_one(store, org, parent_id=running)
    again = cancel(store, root)
    assert (again.asked, again.descendants) == ({}, {late: "canceled"})
    assert events(database, "job.cancel_requested") == [running]


def test_children_are_left_when_nobody_asks_for_them(store: Database, org: UUID, database: Connection) -> None:
    root = enqueue_one(store, org)
    child = enqueue_one(store, org, parent_id=root)
    assert cancel(store, root, children=False) == CancellationResult({root: "canceled"}, {})
    assert state(database, child) == "queued"


@pytest.mark.parametrize(("outcome", "reached"), [(Done(), False), (Cancel("pointless"), True)])
def test_a_job_that_succeeded_keeps_its_children(
    store: Database, org: UUID, *, outcome: Outcome, reached: bool
) -> None:
    root = enqueue_one(store, org)
    child = enqueue_one(store, org, parent_id=root)
    end(store, root, outcome)
    assert cancel(store, root) == CancellationResult({}, {child: "canceled"} if reached else {})


def test_no_job_of_another_org_is_reached_except_from_the_system_orgs(
    store: Database, org: UUID, database: Connection
) -> None:
    other = make_org(database, "another org")
    root, fan_out = enqueue_one(store, org), enqueue_one(store, SYSTEM_ORG)
    foreign = enqueue_one(store, other, parent_id=root)
    fanned = enqueue_one(store, other, parent_id=fan_out)
    assert cancel(store, root).descendants == {}
    assert cancel(store, fan_out, org_id=other) == CancellationResult({}, {})
    assert cancel(store, fan_out).descendants == {fanned: "canceled"}
    assert state(database, foreign) == "queued"


def test_a_descendant_that_a_handler_has_locked_keeps_no_other_org_s_from_its_end(
    store: Database, org: UUID, database: Connection, database_url: str
) -> None:
    fan_out = enqueue_one(store, SYSTEM_ORG)
    held, free = (enqueue_one(store, one, parent_id=fan_out) for one in (org, make_org(database, "another org")))
    with connect(database_url) as foreign:
        foreign.execute("select from jobs where id = %s for share", (held,))
        with pytest.raises(RowLocked):
            cancel(store, fan_out)
        assert (state(database, held), state(database, free)) == ("queued", "canceled")
    assert cancel(store, fan_out).descendants == {held: "canceled"}


def test_a_chain_is_followed_so_far_and_a_circle_ends(store: Database, org: UUID, database: Connection) -> None:
    chain = [enqueue_one(store, org)]
    for _ in range(MOST_LEVELS + 1):
        chain.append(enqueue_one(store, org, parent_id=chain[-1]))
    got = cancel(store, chain[0])
    assert list(got.descendants) == chain[1:-1]
    assert state(database, chain[-1]) == "queued"

    first = enqueue_one(store, org)
    second = enqueue_one(store, org, parent_id=first)
    database.execute("update jobs set parent_id = %s where id = %s", (second, first))
    assert cancel(store, first).descendants == {second: "canceled"}


def test_more_descendants_than_a_transaction_takes(store: Database, org: UUID, database: Connection) -> None:
    root = enqueue_one(store, org)
    wide = cancellations.BATCH + 5
    database.execute(
        "insert into jobs (org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type,"
        " actor_id, request_id, correlation_id, max_attempts, deadline, next_check_at, parent_id)"
        " select %s, 'probe.run', 'default', '{}', 1, 'k' || n, false, 'system', 'x', 'x', 'x', 5, '1 hour', now(), %s"
        " from generate_series(1, %s) as n",
        (org, root, wide),
    )
    assert len(cancel(store, root).descendants) == wide
    row = database.execute("select count(*) from jobs where state <> %s", (State.CANCELED.value,)).fetchone()
    assert row == (0,)
