"""A ledger that was restored from a backup lacks what its jobs did since: they find out before they act."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Found, NotFound, Strategy
from domain.jobs.failures import Uncertain
from domain.jobs.job import ActorType, ClaimedJob, JsonObject, NewJob, Origin
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime
from storage.jobs import effects
from tests.doubles.factories import claim_one, enqueue_one, make_job_type

KEY = "send:1"
ADA = Origin(ActorType.USER, "ada")


@pytest.fixture
def held(process: Runtime, org: UUID) -> ClaimedJob:
    """A job in the hands of this process."""
    make_job_type(process.database, "probe.run")
    return claim_one(process.database, enqueue_one(process.database, org))


def restore(process: Runtime, *, ago: timedelta = timedelta(minutes=1)) -> None:
    with process.database.ledger() as tx:
        effects.doubt_since(tx, datetime.now(UTC) - ago, ADA)


def noting(calls: list[str]) -> Callable[[], JsonObject]:
    """A call that leaves a trace."""

    def call() -> JsonObject:
        calls.append("call")
        return {"sent": 7}

    return call


def test_an_effect_that_nobody_has_begun_is_looked_for_first(process: Runtime, held: ClaimedJob) -> None:
    restore(process)
    ctx, calls = JobContext(process, held), list[str]()
    found = ctx.effect(KEY, noting(calls), find=lambda: Found({"sent": 7}))
    assert (found, calls) == ({"sent": 7}, [])


def test_what_the_provider_does_not_know_is_done_once(process: Runtime, held: ClaimedJob) -> None:
    restore(process)
    ctx, calls = JobContext(process, held), list[str]()
    for _ in range(2):
        assert ctx.effect(KEY, noting(calls), find=NotFound) == {"sent": 7}
    assert calls == ["call"]


def test_where_nobody_can_be_asked_a_person_decides(process: Runtime, held: ClaimedJob, database: Connection) -> None:
    restore(process)
    with pytest.raises(Uncertain):
        JobContext(process, held).effect(KEY, dict, strategy=Strategy.AT_MOST_ONCE)
    assert database.execute("select status from idempotency_keys where key = %s", (KEY,)).fetchone() == ("unknown",)


def test_what_certainly_failed_before_may_have_been_done_since(process: Runtime, held: ClaimedJob) -> None:
    ctx = JobContext(process, held)
    with ctx.tx() as tx:
        ctx.begin_effect(tx, KEY)
    with process.database.ledger() as tx:
        effects.record_effect(tx, held, KEY, EffectStatus.FAILED, lost="the claim was lost")
    restore(process)
    assert ctx.effect(KEY, dict, find=lambda: Found({"sent": 7})) == {"sent": 7}


def test_what_failed_since_is_done_without_a_question(process: Runtime, held: ClaimedJob) -> None:
    restore(process)
    ctx = JobContext(process, held)
    with ctx.tx() as tx:
        ctx.begin_effect(tx, KEY).drop(tx)
    assert ctx.effect(KEY, lambda: {"sent": 8}, find=lambda: Found({"sent": 7})) == {"sent": 8}


def test_a_result_that_is_known_is_returned(process: Runtime, held: ClaimedJob) -> None:
    ctx = JobContext(process, held)
    assert ctx.effect(KEY, lambda: {"sent": 8}) == {"sent": 8}
    restore(process)
    assert ctx.effect(KEY, lambda: {"sent": 9}, find=lambda: Found({"sent": 7})) == {"sent": 8}


def test_what_follows_from_a_job_of_before_is_looked_for_too(process: Runtime, held: ClaimedJob, org: UUID) -> None:
    """Its child was made in the lost time, and is made anew."""
    restore(process)
    with JobContext(process, held).tx() as tx:
        (child,) = enqueue_jobs(tx, [held.child(NewJob("probe.run", org, {}))])
        (owed,) = enqueue_jobs(tx, [held.child(NewJob("probe.run", org, {}))._replace(parent_id=None)])
    for number, made in enumerate((child, owed)):
        ctx = JobContext(process, claim_one(process.database, made.job_id))
        key = f"{KEY}:{number}"
        assert ctx.effect(key, lambda: {"sent": 8}, find=lambda: Found({"sent": 7})) == {"sent": 7}


def test_a_replay_of_a_job_of_before_finds_out(process: Runtime, held: ClaimedJob, org: UUID) -> None:
    restore(process)
    with process.database.ledger() as tx:
        (replay,) = enqueue_jobs(tx, [NewJob("probe.run", org, {}, replay_of=held.job_id)])
    ctx = JobContext(process, claim_one(process.database, replay.job_id))
    assert ctx.effect(KEY, lambda: {"sent": 8}, find=lambda: Found({"sent": 7})) == {"sent": 7}


def test_a_job_that_comes_later_acts(process: Runtime, org: UUID) -> None:
    restore(process)
    make_job_type(process.database, "probe.run")
    later = claim_one(process.database, enqueue_one(process.database, org))
    assert JobContext(process, later).effect(KEY, lambda: {"sent": 8}, find=lambda: Found({"sent": 7})) == {"sent": 8}


@pytest.mark.parametrize(("ago", "calls_again"), [(timedelta(hours=22), True), (timedelta(hours=24), False)])
def test_a_native_key_is_as_old_as_what_was_lost(
    process: Runtime, held: ClaimedJob, ago: timedelta, *, calls_again: bool
) -> None:
    restore(process, ago=ago)
    ctx, sent = JobContext(process, held), list[bytes]()

    def call(request: bytes) -> dict[str, object]:
        sent.append(request)
        return {}

    if calls_again:
        ctx.keyed_effect(KEY, b"the same bytes", call)
    else:
        with pytest.raises(Uncertain):
            ctx.keyed_effect(KEY, b"the same bytes", call)
    assert len(sent) == calls_again


def test_a_restoration_goes_with_the_last_job_of_before(
    process: Runtime, held: ClaimedJob, database: Connection
) -> None:
    """Before that, or within the time for which an effect is kept, it may put something in doubt."""
    restore(process)
    orgs = database.execute("select from orgs").rowcount

    def forget() -> int:
        with process.database.ledger() as tx:
            return effects.RETENTION.forget(tx)

    assert forget() == 0
    database.execute("update restorations set lost_from = now() - interval '32 days'")
    database.execute("update restorations set restored_at = now() - interval '31 days'")
    database.execute("update jobs set created_at = now() - interval '33 days' where id = %s", (held.job_id,))
    assert forget() == 0
    database.execute("update jobs set created_at = now() where id = %s", (held.job_id,))
    assert forget() == orgs
