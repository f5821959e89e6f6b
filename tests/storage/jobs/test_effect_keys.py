"""Keys of effects and of jobs are two spaces; an intent knows which other claims are alive when it is written."""

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.effects import EffectStatus, Standing, Strategy
from domain.jobs.failures import ClaimLost
from domain.jobs.job import ClaimedJob, Done, NewJob, Snooze
from domain.jobs.lifecycle import Settlement, settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import effects, ledger
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org, pass_time
from tests.invariants import check_ledger
from tests.storage.jobs.test_end_hooks import NOW
from tests.waiting import patient, until_a_lock_is_waited_for


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def test_an_effect_under_the_key_of_a_job_is_begun_and_ends_beside_that_jobs_guard(
    store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store, "probe.unique", unique_mode="while_active", unique_fields=("n",))
    unique = NewJob("probe.unique", org, {"n": 1}, idempotency_key="invoice-42")
    first = claim_one(store, enqueue_one(store, org, "probe.unique", payload={"n": 1}, idempotency_key="invoice-42"))
    other = claim_one(store, enqueue_one(store, org))
    with store.statements() as tx:
        assert effects.begin_effect(tx, other, "invoice-42", Strategy.FIND).standing is Standing.ACT
        assert effects.finish_effect(tx, other, "invoice-42", EffectStatus.SUCCEEDED, result={"n": 1})
    check_ledger(database, open_jobs=2)
    with store.statements() as tx:
        ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in (first, other)])
    with store.ledger() as tx:
        (again,) = ledger.enqueue(tx, [unique], publisher=True, hint_timeout=HINT_TIMEOUT)
    assert (again.created, again.job_id) == (False, first.job_id), "a named key guards beyond its job's end"


@pytest.mark.parametrize("settle", [ledger.settle, ledger.settle_free])
def test_a_job_under_the_key_of_its_own_effect_changes_no_effect(
    store: Database, database: Connection, org: UUID, settle: Callable[[Transaction, Sequence[Settlement]], object]
) -> None:
    """Neither its claim nor its end may write the state of the guard over that of the effect."""
    job_id = enqueue_one(store, org, idempotency_key="draft:1")
    job = claim_one(store, job_id)
    with store.statements() as tx:
        assert effects.begin_effect(tx, job, "draft:1", Strategy.FIND).standing is Standing.ACT
    again = settlement_of(job, Snooze(NOW, "later"), STANDARD, NOW, 0.0)
    with store.statements() as tx:
        assert ledger.settle(tx, [again]) is not None
    database.execute(
        "update jobs set run_at = now(), next_check_at = null, published_at = now() where id = %s", (job_id,)
    )
    job = claim_one(store, job_id)
    with store.statements() as tx:
        assert effects.begin_effect(tx, job, "draft:1", Strategy.FIND).standing is Standing.FIND_OUT
        assert effects.finish_effect(tx, job, "draft:1", EffectStatus.SUCCEEDED, result={"id": "d1"})
    with store.ledger() as tx:
        settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0)])
    kinds = database.execute(
        "select kind, status, result_ref from idempotency_keys where key = 'draft:1' order by kind"
    )
    assert kinds.fetchall() == [("effect", "succeeded", {"id": "d1"}), ("named", "succeeded", {"job_id": str(job_id)})]
    check_ledger(database, open_jobs=0)


def test_an_intent_that_waited_for_its_own_claim_sees_who_is_at_the_effect_by_then(
    store: Database, database: Connection, database_url: str, org: UUID
) -> None:
    waiting, second_id = claim_one(store, enqueue_one(store, org)), enqueue_one(store, org)
    found: list[Standing] = []

    def begin() -> None:
        with patient(store.statements()) as tx:
            found.append(effects.begin_effect(tx, waiting, "send", Strategy.FIND).standing)

    with connect(database_url) as operator:
        operator.execute("update jobs set cancel_reason = cancel_reason where id = %s", (waiting.job_id,))
        thread = threading.Thread(target=begin)
        thread.start()
        until_a_lock_is_waited_for(database, describe="the intent waits for its job")
        second = claim_one(store, second_id)
        with store.statements() as tx:
            assert effects.begin_effect(tx, second, "send", Strategy.FIND).standing is Standing.ACT
        operator.commit()
        thread.join()
    assert found == [Standing.BUSY]
    with store.statements() as tx:
        assert effects.finish_effect(tx, second, "send", EffectStatus.SUCCEEDED, result={})


def next_attempt(store: Database, database: Connection, job: ClaimedJob) -> ClaimedJob:
    """The same job in other hands, with a token of its own."""
    with store.statements() as tx:
        ledger.settle(tx, [settlement_of(job, Snooze(NOW, "later"), STANDARD, NOW, 0.0)])
    due = "update jobs set run_at = now(), next_check_at = null, published_at = now() where id = %s"
    database.execute(due, (job.job_id,))
    return claim_one(store, job.job_id)


def test_an_attempt_announces_only_a_call_whose_intent_it_wrote(
    store: Database, database: Connection, org: UUID
) -> None:
    first = claim_one(store, enqueue_one(store, org))
    with store.statements() as tx:
        effects.begin_effect(tx, first, "send", Strategy.FIND)
    second = next_attempt(store, database, first)
    with pytest.raises(ClaimLost), store.statements() as tx:
        effects.announce_call(tx, second, "send", timedelta(seconds=30))


@pytest.mark.parametrize(("sent", "is_new"), [(b"at ten", True), (b"at nine", False), (None, False)])
def test_a_key_is_as_old_as_the_request_that_stands_for_it(
    store: Database, database: Connection, org: UUID, sent: bytes | None, *, is_new: bool
) -> None:
    first = claim_one(store, enqueue_one(store, org))
    with store.statements() as tx:
        effects.begin_effect(tx, first, "send", Strategy.NATIVE_KEY, request=b"at nine")
    pass_time(database, timedelta(hours=1))
    with store.statements() as tx:
        effects.announce_call(tx, first, "send", timedelta(0), sent)
    second = next_attempt(store, database, first)
    with store.statements() as tx:
        intent = effects.begin_effect(tx, second, "send", Strategy.NATIVE_KEY)
    assert (intent.request, intent.known_for < timedelta(hours=1)) == (b"at ten" if is_new else b"at nine", is_new)
