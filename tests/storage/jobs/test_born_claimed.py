"""Children that are claimed in the transaction that enqueues them: which are, and what keeps the others back."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob, Done, Hint, NewJob
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import gates, ledger
from storage.jobs.answers import Settled, Slots
from storage.jobs.requests import as_requests
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, LEASE, claim_one, enqueue_one, make_job_type, make_org, make_worker

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    make_job_type(store, "probe.child")
    make_job_type(store, "probe.serial", serial_field="account_id")
    make_job_type(store, "probe.unique", unique_mode="while_queued", unique_fields=["account_id"])
    make_job_type(store, "probe.elsewhere", queue="exports")
    return make_org(database)


def slots_of(worker_id: UUID, most: int = 4) -> Slots:
    return Slots(most, ["default", "critical"], worker_id, uuid4(), LEASE)


def settle_with(store: Database, parent: ClaimedJob, child: NewJob, most: int = 4, count: int = 1) -> Settled:
    """End a job in its handler's transaction, which enqueues children."""
    with store.claimed(parent.org_id, parent.job_id, parent.token) as tx:
        made = ledger.enqueue(tx, [child] * count, publisher=True, hint_timeout=HINT_TIMEOUT)
        fresh = [one.hint for one in made if one.publish]
        return ledger.settle_held(tx, parent, {}, 0, began_at=NOW, fresh=fresh, slots=slots_of(uuid4(), most)).answer


def settle_in_batch(store: Database, parent: ClaimedJob, child: NewJob, most: int = 4, count: int = 1) -> Settled:
    """End a job as the ledger loop does."""
    settlement = settlement_of(parent, Done(), STANDARD, NOW, 0.0, began_at=NOW)
    with store.statements() as tx:
        worker = tx.raw("select worker_id from jobs where id = %(id)s", {"id": parent.job_id})[0][0]
        asked = settlement._replace(children=str(as_requests([parent.child(child)] * count, ())))
        return ledger.settle(tx, [asked], slots=slots_of(worker, most))


def claim_within(store: Database, parent: ClaimedJob, child: NewJob, most: int = 4, count: int = 1) -> Settled:
    """Enqueue in a transaction of a handler that goes on."""
    with store.claimed(parent.org_id, parent.job_id, parent.token) as tx:
        made = ledger.enqueue(tx, [child] * count, publisher=True, hint_timeout=HINT_TIMEOUT)
        fresh = [one.hint for one in made if one.publish]
        return ledger.claim_children(tx, parent, fresh, slots_of(uuid4(), most))


Way = Callable[..., Settled]
WAYS = pytest.mark.parametrize("way", [settle_with, settle_in_batch, claim_within])


@WAYS
@pytest.mark.parametrize("job_type", ["probe.child", "probe.unique"])
def test_a_child_that_nothing_keeps_back_is_born_claimed(
    store: Database, database: Connection, org: UUID, way: Way, job_type: str
) -> None:
    worker = make_worker(store)
    parent = claim_one(store, enqueue_one(store, org), worker)
    (born,) = way(store, parent, NewJob(job_type, org, {"account_id": "a"})).born
    row = database.execute(
        "select state, claim_token, worker_id, attempt, next_check_at <= now() + interval '1 minute' from jobs"
        " where id = %s", (born.job_id,)
    ).fetchone()  # fmt: skip
    assert row == ("claimed", born.token, worker.worker_id, 0, True)
    assert (born.job_type, born.org_id, born.payload, born.attempt) == (job_type, org, {"account_id": "a"}, 1)
    guards = database.execute("select status from idempotency_keys where job_id = %s", (born.job_id,)).fetchall()
    assert guards == ([("running",)] if job_type == "probe.unique" else [])
    # It goes on as any claimed job does, and its history says who claimed it.
    with store.statements() as tx:
        assert not ledger.settle(tx, [settlement_of(born, Done(), STANDARD, NOW, 0.0, began_at=NOW)]).refused
    events = "select array_agg(event order by id) from audit_log where job_id = %s"
    assert database.execute(events, (born.job_id,)).fetchone() == (["job.enqueued", "job.started", "job.succeeded"],)


def close_gate(store: Database, *_: object) -> None:
    with store.ledger() as tx:
        gates.close(tx, gates.Gate("job_type", "probe.child", "a test", None, "test"))


def mark(of_org: bool) -> Callable[[Database, Connection, UUID], None]:
    def over_burst(_store: Database, database: Connection, _org: UUID) -> None:
        other = make_org(database, "another") if of_org else None
        database.execute("insert into orgs_over_burst (queue, org_id) values ('critical', %s)", (other,))

    return over_burst


def nothing(*_: object) -> None:
    pass


KEPT_BACK: Mapping[str, tuple[Callable[[Database, Connection, UUID], None], dict[str, Any]]] = {
    "gate closed": (close_gate, {}),
    "another org's backlog": (mark(of_org=True), {}),
    "a backlog of the whole queue": (mark(of_org=False), {}),
    "not due": (nothing, {"run_at": datetime(2100, 1, 1, tzinfo=UTC)}),
    "expired": (nothing, {"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}),
    "queue not served": (nothing, {"job_type": "probe.elsewhere"}),
}


@WAYS
@pytest.mark.parametrize("kept_back", KEPT_BACK)
def test_what_keeps_a_child_back_lets_it_wait_as_ever(
    store: Database, database: Connection, org: UUID, way: Way, kept_back: str
) -> None:
    prepare, given = KEPT_BACK[kept_back]
    prepare(store, database, org)
    parent = claim_one(store, enqueue_one(store, org))
    child = NewJob("probe.child", org, {"account_id": "a"})._replace(**given)
    assert way(store, parent, child).born == ()
    others = database.execute("select state from jobs where id <> %s", (parent.job_id,)).fetchall()
    assert others == [("queued",)]


@WAYS
def test_a_child_of_a_concurrency_key_is_claimed_by_nobody_who_could_keep_others_waiting(
    store: Database, database: Connection, org: UUID, way: Way
) -> None:
    """The loop commits at once; a handler's transaction would hold the key's slot for as long as it lasts."""
    parent = claim_one(store, enqueue_one(store, org))
    settled = way(store, parent, NewJob("probe.serial", org, {"account_id": "a"}), count=2)
    assert len(settled.born) == (way is settle_in_batch)
    assert database.execute("select job_id from serial_slots").fetchall() == [(job.job_id,) for job in settled.born]


def test_who_waited_for_the_key_of_a_job_is_claimed_with_its_end(
    store: Database, database: Connection, org: UUID
) -> None:
    first, second = (enqueue_one(store, org, "probe.serial", payload={"account_id": "a"}) for _ in range(2))
    worker = make_worker(store)
    holder = claim_one(store, first, worker)
    with store.statements() as tx:
        assert ledger.claim(tx, [second], worker.worker_id, lease=LEASE).refused == {second: "serial"}
        end = settlement_of(holder, Done(), STANDARD, NOW, 0.0, began_at=NOW)
        settled = ledger.settle(tx, [end], slots=slots_of(worker.worker_id))
    assert [job.job_id for job in settled.born] == [second]
    assert settled.hints == ()
    assert database.execute("select job_id from serial_slots").fetchall() == [(second,)]


@WAYS
def test_an_org_over_its_burst_waits_its_turn(store: Database, database: Connection, org: UUID, way: Way) -> None:
    database.execute("insert into orgs_over_burst (queue, org_id) values ('default', %s)", (org,))
    parent = claim_one(store, enqueue_one(store, org))
    settled = way(store, parent, NewJob("probe.child", org, {}))
    assert (settled.born, settled.hints) == ((), ())
    waiting = "select count(*) from jobs where backlog_since is not null and job_type = 'probe.child'"
    assert database.execute(waiting).fetchone() == (1,)


@WAYS
@pytest.mark.parametrize("slots", [0, 2])
def test_no_more_are_born_claimed_than_there_are_slots(
    store: Database, database: Connection, org: UUID, way: Way, slots: int
) -> None:
    parent = claim_one(store, enqueue_one(store, org))
    settled = way(store, parent, NewJob("probe.child", org, {}), most=slots, count=5)
    assert len(settled.born) == slots
    states = database.execute("select state from jobs where job_type = 'probe.child'").fetchall()
    assert sorted(state for (state,) in states) == ["claimed"] * slots + ["queued"] * (5 - slots)
    assert not {hint.job_id for hint in settled.hints} & {job.job_id for job in settled.born}
    if way is settle_in_batch:  # in the other ways the caller has the hints
        assert len(settled.hints) == 5 - slots


@pytest.mark.parametrize("way", [settle_with, claim_within])
def test_what_is_rolled_back_is_not_claimed(store: Database, database: Connection, org: UUID, way: Way) -> None:
    parent = claim_one(store, enqueue_one(store, org))
    with pytest.raises(ZeroDivisionError), store.claimed(org, parent.job_id, parent.token) as tx:
        hints = [
            one.hint
            for one in ledger.enqueue(tx, [NewJob("probe.child", org, {})], publisher=True, hint_timeout=HINT_TIMEOUT)
        ]
        claim = ledger.claim_children if way is claim_within else _settle
        assert claim(tx, parent, hints, slots_of(uuid4())).born
        raise ZeroDivisionError
    assert database.execute("select job_type, state from jobs").fetchall() == [("probe.run", "running")]


def _settle(tx: Any, job: ClaimedJob, fresh: list[Hint], slots: Slots) -> Settled:  # noqa: ANN401 - a transaction
    return ledger.settle_held(tx, job, {}, 0, began_at=NOW, fresh=fresh, slots=slots).answer


@pytest.mark.parametrize("claim", [ledger.claim_children, _settle])
def test_a_tenant_claims_only_what_its_own_transaction_has_enqueued(
    store: Database, database: Connection, org: UUID, claim: Callable[..., Settled]
) -> None:
    theirs = make_org(database, "theirs")
    waiting = [Hint(enqueue_one(store, whose, "probe.child"), "probe.child", "default") for whose in (org, theirs)]
    parent = claim_one(store, enqueue_one(store, org))
    with store.claimed(org, parent.job_id, parent.token) as tx:
        assert claim(tx, parent, waiting, slots_of(uuid4())).born == ()
    with pytest.raises(ClaimLost), store.tenant(org) as tx:
        claim(tx, parent._replace(token=uuid4()), waiting, slots_of(uuid4()))


def test_the_most_urgent_children_come_first(store: Database, org: UUID) -> None:
    parent = claim_one(store, enqueue_one(store, org))
    with store.claimed(org, parent.job_id, parent.token) as tx:
        asked = [NewJob("probe.child", org, {}, priority=priority) for priority in (0, 5, -5)]
        hints = [one.hint for one in ledger.enqueue(tx, asked, publisher=True, hint_timeout=HINT_TIMEOUT)]
        (born,) = ledger.claim_children(tx, parent, hints, slots_of(uuid4(), 1)).born
    assert born.job_id == hints[1].job_id
