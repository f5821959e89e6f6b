"""An effect in parts: its intent and its result in transactions of the handler, together with the handler's rows."""

from functools import partial
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.failures import Busy, ClaimLost, Transient, Unauthorised
from domain.jobs.job import ClaimedJob, JsonObject, Origin, State
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import MOST_RETURNS, STANDARD
from engine.context import JobContext
from engine.effects import EffectGuard
from engine.interrupts import Canceled
from engine.runtime import Runtime
from storage.jobs import audit, effects, ledger
from storage.postgres.database import Transaction
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW

KEY = "send:1"


@pytest.fixture
def held(process: Runtime, org: UUID) -> ClaimedJob:
    """A job in the hands of this process."""
    make_job_type(process.database, "probe.run", audits=("probe.noted",))
    return claim_one(process.database, enqueue_one(process.database, org))


@pytest.fixture
def ctx(process: Runtime, held: ClaimedJob) -> JobContext:
    return JobContext(process, held)


def status(database: Connection) -> str | None:
    row = database.execute("select status from idempotency_keys where key = %s", (KEY,)).fetchone()
    return None if row is None else str(row[0])


def audited(database: Connection, event: str) -> int:
    row = database.execute("select count(*) from audit_log where event = %s", (event,)).fetchone()
    assert row is not None
    return int(row[0])


def audit_one(ctx: JobContext, tx: Transaction) -> None:
    """A row of the handler."""
    audit.append(tx, ctx.job, "probe.noted", {})


def test_an_intent_commits_with_the_rows_of_its_transaction(ctx: JobContext, database: Connection) -> None:
    with pytest.raises(Transient), ctx.tx() as tx:
        ctx.begin_effect(tx, KEY)
        raise Transient("before the commit")
    assert status(database) is None
    with ctx.tx() as tx:
        ctx.begin_effect(tx, KEY)
        audit_one(ctx, tx)
    assert (status(database), audited(database, "probe.noted")) == ("running", 1)


def test_a_recorded_result_is_returned_without_another_call(ctx: JobContext, database: Connection) -> None:
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    assert guard.carry_out(lambda: {"sent": 1}) == {"sent": 1}
    assert status(database) == "running"
    with ctx.tx() as tx:
        guard.record(tx)
        audit_one(ctx, tx)
    assert (status(database), audited(database, "probe.noted")) == ("succeeded", 1)
    assert ctx.effect(KEY, lambda: {"sent": 2}) == {"sent": 1}


def test_an_idempotent_effect_that_was_not_recorded_is_repeated(ctx: JobContext) -> None:
    calls: list[JsonObject] = []

    def call() -> JsonObject:
        calls.append({})
        return calls[-1]

    for _ in range(2):
        with ctx.tx() as tx:
            guard = ctx.begin_effect(tx, KEY, Strategy.IDEMPOTENT)
        guard.carry_out(call)
    assert len(calls) == 2


def test_a_result_is_not_recorded_without_the_rows_that_follow_from_it(ctx: JobContext, database: Connection) -> None:
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    guard.carry_out(lambda: {"sent": 1})

    def refuse(_tx: Transaction) -> None:
        raise Transient("the row cannot be written")

    with pytest.raises(Transient):
        guard.record_with(refuse)
    assert status(database) == "running"
    guard.record_with(partial(audit_one, ctx))
    assert (status(database), audited(database, "probe.noted")) == ("succeeded", 1)


def test_an_effect_whose_claim_was_lost_meanwhile_is_told(ctx: JobContext, database: Connection) -> None:
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    guard.carry_out(lambda: {"sent": 1})
    database.execute("update jobs set claim_token = gen_random_uuid()")
    with pytest.raises(ClaimLost):
        guard.record_with(partial(audit_one, ctx))
    assert status(database) == "running"
    assert (audited(database, "effect.unrecorded"), audited(database, "probe.noted")) == (1, 0)


def test_no_effect_begins_for_a_job_that_is_to_be_canceled(ctx: JobContext, database: Connection) -> None:
    database.execute("update jobs set cancel_requested_at = now(), cancel_reason = 'no need'")
    with pytest.raises(Canceled, match="no need"), ctx.tx() as tx:
        ctx.begin_effect(tx, KEY)
    assert status(database) is None


def test_a_tenant_cannot_touch_the_effects_of_another_org(
    process: Runtime, held: ClaimedJob, database: Connection
) -> None:
    with process.database.statements() as tx:
        effects.begin_effect(tx, held, KEY, Strategy.FIND)
    with process.database.tenant(make_org(database, "another org")) as tx:
        with pytest.raises(ClaimLost):
            effects.begin_effect(tx, held, "send:2", Strategy.FIND)
        with pytest.raises(ClaimLost):
            effects.announce_call(tx, held, KEY, process.call_time, b"another org's")
        assert not effects.finish_effect(tx, held, KEY, EffectStatus.SUCCEEDED, result={})
    assert status(database) == "running"


def test_an_effect_that_another_job_is_at_costs_no_attempt(process: Runtime, ctx: JobContext, org: UUID) -> None:
    """Or it could spend all of them within one long call of the other's: each try ends at once."""
    with ctx.tx() as tx:
        ctx.begin_effect(tx, KEY)
    other = claim_one(process.database, enqueue_one(process.database, org))
    with pytest.raises(Busy) as caught:
        JobContext(process, other).effect(KEY, lambda: {"sent": 2})
    assert caught.value.wait * MOST_RETURNS > process.call_time
    back = settlement_of(other, caught.value, STANDARD, NOW, 0.0)
    assert (back.state, back.attempt_delta) == (State.QUEUED, -1)


def test_a_result_is_recorded_although_the_job_may_begin_no_other_effect(
    process: Runtime, ctx: JobContext, held: ClaimedJob, database: Connection
) -> None:
    """The next effect's intent stands in the transaction that records the result."""
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    guard.carry_out(lambda: {"sent": 1})
    with process.database.ledger() as frame:
        ledger.cancel(frame, [held.job_id], "no longer needed", by=Origin())

    def go_on(tx: Transaction) -> EffectGuard:
        audit_one(ctx, tx)
        return ctx.begin_effect(tx, "labels:1")

    following = guard.record_with(go_on)
    assert (status(database), audited(database, "probe.noted"), following.is_refused) == ("succeeded", 1, True)
    with pytest.raises(Canceled):
        following.carry_out(lambda: pytest.fail("it is called"))
    assert database.execute("select count(*) from idempotency_keys where key = 'labels:1'").fetchone() == (0,)


def test_each_writing_transaction_begins_with_what_the_job_holds(ctx: JobContext, database: Connection) -> None:
    def refuse(_tx: Transaction) -> None:
        raise Canceled("the owner left")

    ctx.hold_in_writes(refuse)
    with pytest.raises(Canceled):
        ctx.effect(KEY, lambda: pytest.fail("it is called"))
    with pytest.raises(Canceled), ctx.tx():
        pytest.fail("it is opened")
    with ctx.read() as tx:
        assert tx.raw("select 1 as one")[0].one == 1
    assert status(database) is None


def test_what_only_forbids_effects_lets_the_job_write(ctx: JobContext, database: Connection) -> None:
    ctx.hold_in_writes(lambda _tx: Unauthorised("consent is gone", account="1"))
    with ctx.tx() as tx:
        audit_one(ctx, tx)
    with pytest.raises(Unauthorised):
        ctx.effect(KEY, lambda: pytest.fail("it is called"))
    assert (status(database), audited(database, "probe.noted")) == (None, 1)


def test_a_result_is_recorded_whatever_the_job_holds(ctx: JobContext, database: Connection) -> None:
    """The next effect's intent is left out."""
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    guard.carry_out(lambda: {"sent": 1})

    def refuse(_tx: Transaction) -> None:
        raise Canceled("the owner left")

    ctx.hold_in_writes(refuse)
    following = guard.record_with(lambda tx: ctx.begin_effect(tx, "labels:1"))
    assert (status(database), following.is_refused) == ("succeeded", True)
    with pytest.raises(Canceled):
        following.carry_out(lambda: pytest.fail("it is called"))


def test_what_is_known_and_not_recorded_is_recorded_when_no_other_attempt_follows(
    ctx: JobContext, database: Connection
) -> None:
    with ctx.tx() as tx:
        guard = ctx.begin_effect(tx, KEY)
    guard.carry_out(lambda: {"sent": 1})
    with pytest.raises(Canceled), ctx.tx() as tx:
        guard.record(tx)
        raise Canceled("no longer needed")
    assert status(database) == "running"
    ctx.record_known()
    assert status(database) == "succeeded"
