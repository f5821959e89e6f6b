"""A call begins only under a claim that outlasts it, and nobody repeats it while it may still be under way."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.effects import NATIVE_KEY_KNOWN_FOR, CannotTell, Finding, Found, NotFound, Strategy
from domain.jobs.failures import CallState, ClaimLost, InFlight, Transient, Uncertain
from domain.jobs.job import ClaimedJob, JsonObject
from engine.context import JobContext
from engine.runtime import Runtime
from storage.jobs import recovery
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, pass_time

KEY = "send:1"
LOSSES = {
    "deadline": "update jobs set claimed_at = claimed_at - deadline",
    "partition": "update workers set lease_until = now() - interval '1 second'",
}
"""How a claim is taken away while its process goes on."""


@pytest.fixture
def job_id(process: Runtime, org: UUID) -> UUID:
    make_job_type(process.database, "probe.run", deadline=timedelta(minutes=5))
    return enqueue_one(process.database, org)


class Outside:
    """Something that is changed by calls, each of which is seen only when it has ended."""

    def __init__(self) -> None:
        self.deeds: list[bytes] = []

    def call(self, request: bytes = b"") -> JsonObject:
        self.deeds.append(request)
        return {"deed": len(self.deeds)}

    def find(self) -> Finding:
        return Found({"deed": len(self.deeds)}) if self.deeds else NotFound()


@pytest.fixture
def outside() -> Outside:
    return Outside()


def lose_claim(process: Runtime, database: Connection, how: str) -> None:
    database.execute(LOSSES[how])
    database.execute("update jobs set next_check_at = now()")
    with process.database.ledger() as tx:
        assert recovery.rescue(tx, batch=10).job_ids


def successor(process: Runtime, job_id: UUID) -> JobContext:
    return JobContext(process, claim_one(process.database, job_id))


@pytest.mark.parametrize("how", LOSSES)
def test_what_is_not_there_yet_does_not_count_while_the_first_call_may_be_under_way(
    process: Runtime, database: Connection, job_id: UUID, outside: Outside, how: str
) -> None:
    first = JobContext(process, claim_one(process.database, job_id))

    def slow_call() -> JsonObject:
        lose_claim(process, database, how)
        with pytest.raises(InFlight) as early:
            successor(process, job_id).effect(KEY, outside.call, find=outside.find)
        assert timedelta(seconds=30) < early.value.wait <= process.call_time
        return outside.call()

    with pytest.raises(ClaimLost):
        first.effect(KEY, slow_call, find=outside.find)
    database.execute("update jobs set state = 'queued', claim_token = null, worker_id = null, claimed_at = null")
    pass_time(database, process.call_time)
    assert successor(process, job_id).effect(KEY, outside.call, find=outside.find) == {"deed": 1}
    assert len(outside.deeds) == 1


def test_a_call_that_never_landed_is_made_once_its_time_is_over(
    process: Runtime, database: Connection, job_id: UUID, outside: Outside
) -> None:
    first = JobContext(process, claim_one(process.database, job_id))
    with process.database.statements() as tx:
        first.begin_effect(tx, KEY)
    lose_claim(process, database, "partition")
    pass_time(database, process.call_time)
    assert successor(process, job_id).effect(KEY, outside.call, find=outside.find) == {"deed": 1}


@pytest.mark.parametrize("finding", [NotFound(), CannotTell("who knows")])
def test_nothing_is_ruled_about_a_call_that_may_be_under_way(
    process: Runtime, database: Connection, job_id: UUID, finding: Finding
) -> None:
    first = JobContext(process, claim_one(process.database, job_id))
    with process.database.statements() as tx:
        first.begin_effect(tx, KEY)
    lose_claim(process, database, "partition")
    later = successor(process, job_id)
    with process.database.statements() as tx:
        guard = later.begin_effect(tx, KEY)
    with pytest.raises(InFlight):
        guard.look(lambda: finding)
    assert database.execute("select status from idempotency_keys where key = %s", (KEY,)).fetchone() == ("running",)


def test_no_call_begins_that_the_deadline_could_cut(process: Runtime, database: Connection, job_id: UUID) -> None:
    ctx = JobContext(process, claim_one(process.database, job_id))
    # 34 of the 35 seconds that the longest call and its record may take.
    database.execute("update jobs set claimed_at = now() - deadline + interval '34 seconds'")
    with pytest.raises(ClaimLost, match="may take 35"):
        ctx.effect(KEY, not_called, find=NotFound)
    assert database.execute("select status from idempotency_keys where key = %s", (KEY,)).fetchone() == ("failed",)


def test_no_call_begins_that_the_lease_could_cut(process: Runtime, job_id: UUID) -> None:
    ctx = JobContext(process, claim_one(process.database, job_id))
    process.lease.renewed_at -= (process.lease.length - process.call_time).total_seconds() + 1
    with pytest.raises(ClaimLost, match="may take 35"):
        ctx.effect(KEY, not_called, find=NotFound)


def test_nobody_has_to_find_out_again_what_was_found_not_to_have_happened(
    process: Runtime, database: Connection, job_id: UUID
) -> None:
    """The first call did nothing, and there was too little time left for another."""
    first = JobContext(process, claim_one(process.database, job_id))
    with process.database.statements() as tx:
        first.begin_effect(tx, KEY)
    lose_claim(process, database, "partition")
    pass_time(database, process.call_time)

    def find_slowly() -> Finding:
        process.lease.renewed_at -= process.lease.length.total_seconds()
        return NotFound()

    with pytest.raises(ClaimLost, match="may take 35"):
        successor(process, job_id).effect(KEY, not_called, find=find_slowly)
    assert database.execute("select status from idempotency_keys where key = %s", (KEY,)).fetchone() == ("failed",)


def not_called() -> JsonObject:
    raise AssertionError("called with too little time")


def lost_answer(outside: Outside) -> Callable[[bytes], JsonObject]:
    def call(request: bytes) -> JsonObject:
        outside.call(request)
        raise Transient("no answer", call_state=CallState.IN_DOUBT)

    return call


@pytest.fixture
def held(process: Runtime, job_id: UUID) -> ClaimedJob:
    return claim_one(process.database, job_id)


def test_a_keyed_effect_sends_the_same_bytes_again(process: Runtime, held: ClaimedJob, outside: Outside) -> None:
    ctx = JobContext(process, held)
    with pytest.raises(Transient):
        ctx.keyed_effect(KEY, b"at nine", lost_answer(outside))
    assert ctx.keyed_effect(KEY, b"at ten", outside.call) == {"deed": 2}
    assert outside.deeds == [b"at nine", b"at nine"]


def test_what_was_sent_is_kept_only_while_the_effect_is_in_doubt(
    process: Runtime, database: Connection, held: ClaimedJob, outside: Outside
) -> None:
    ctx, kept = JobContext(process, held), "select request from idempotency_keys where key = %s"
    with pytest.raises(Transient):
        ctx.keyed_effect(KEY, b"at nine", lost_answer(outside))
    assert database.execute(kept, (KEY,)).fetchone() == (b"at nine",)
    ctx.keyed_effect(KEY, b"at nine", outside.call)
    assert database.execute(kept, (KEY,)).fetchone() == (None,)


@pytest.mark.parametrize("refused_first", [False, True])
def test_a_key_that_the_provider_may_have_forgotten_is_not_used_again(
    process: Runtime, database: Connection, held: ClaimedJob, outside: Outside, refused_first: bool
) -> None:
    ctx = JobContext(process, held)
    with pytest.raises(Transient):
        ctx.keyed_effect(KEY, b"at nine", lost_answer(outside))
    if refused_first:
        # Certainly not done by this call; but the first one may have been.
        with pytest.raises(Transient):
            ctx.keyed_effect(KEY, b"at nine", refuse)
    database.execute("update idempotency_keys set begun_at = begun_at - %s", (NATIVE_KEY_KNOWN_FOR,))
    with pytest.raises(Uncertain):
        ctx.keyed_effect(KEY, b"at nine", outside.call)
    assert len(outside.deeds) == 1


def refuse(_request: bytes) -> JsonObject:
    raise Transient("not now")


def test_a_key_is_as_old_as_the_call_that_may_have_landed(
    process: Runtime, database: Connection, held: ClaimedJob, outside: Outside
) -> None:
    ctx = JobContext(process, held)
    with pytest.raises(Transient):
        ctx.keyed_effect(KEY, b"at nine", refuse)
    database.execute("update idempotency_keys set begun_at = begun_at - %s", (NATIVE_KEY_KNOWN_FOR,))
    with pytest.raises(Transient):
        ctx.keyed_effect(KEY, b"at ten", lost_answer(outside))
    assert ctx.keyed_effect(KEY, b"at eleven", outside.call) == {"deed": 2}
    assert outside.deeds == [b"at ten", b"at ten"]


def test_a_native_key_comes_with_the_bytes_that_it_stands_for(process: Runtime, held: ClaimedJob) -> None:
    with pytest.raises(ValueError, match="keyed_effect"):
        JobContext(process, held).effect(KEY, not_called, strategy=Strategy.NATIVE_KEY)


def test_another_job_looks_for_what_the_first_request_said(
    process: Runtime, database: Connection, org: UUID, held: ClaimedJob, outside: Outside
) -> None:
    asked: list[bytes | None] = []
    kept = "select status, request from idempotency_keys where key = %s"

    def find(request: bytes | None) -> Finding:
        asked.append(request)
        return CannotTell("it does not say") if len(asked) > 1 else NotFound()

    with pytest.raises(Transient):
        JobContext(process, held).effect_with_request(KEY, b"here", partial(lost_answer(outside), b"here"), find)
    pass_time(database, timedelta(hours=1))
    lose_claim(process, database, "deadline")
    other = JobContext(process, claim_one(process.database, enqueue_one(process.database, org)))
    with pytest.raises(Transient):
        other.effect_with_request(KEY, b"there", partial(lost_answer(outside), b"there"), find)
    assert database.execute(kept, (KEY,)).fetchone() == ("running", b"there"), "the first call did nothing"
    pass_time(database, timedelta(minutes=2))
    with pytest.raises(Uncertain):
        other.effect_with_request(KEY, b"elsewhere", not_called, find)
    assert asked == [b"here", b"there"]
    assert database.execute(kept, (KEY,)).fetchone() == ("unknown", b"there")


def test_the_request_of_a_new_call_is_kept_from_before_the_call(
    process: Runtime, database: Connection, held: ClaimedJob, outside: Outside
) -> None:
    ctx, kept = JobContext(process, held), "select request from idempotency_keys where key = %s"

    def find(_request: bytes | None) -> Finding:
        return NotFound()

    def look_then_call() -> JsonObject:
        assert database.execute(kept, (KEY,)).fetchone() == (b"there",)
        return outside.call()

    with pytest.raises(Transient):
        ctx.effect_with_request(KEY, b"here", partial(lost_answer(outside), b"here"), find)
    pass_time(database, timedelta(minutes=2))
    assert ctx.effect_with_request(KEY, b"there", look_then_call, find) == {"deed": 2}


def test_a_call_that_repeats_one_that_never_landed_may_be_under_way_too(
    process: Runtime, database: Connection, job_id: UUID, outside: Outside
) -> None:
    first = JobContext(process, claim_one(process.database, job_id))
    with process.database.statements() as tx:
        first.begin_effect(tx, KEY)
    lose_claim(process, database, "deadline")
    pass_time(database, process.call_time)

    def slow_call() -> JsonObject:
        lose_claim(process, database, "deadline")
        with pytest.raises(InFlight):
            successor(process, job_id).effect(KEY, outside.call, find=outside.find)
        return outside.call()

    with pytest.raises(ClaimLost):
        successor(process, job_id).effect(KEY, slow_call, find=outside.find)
    assert len(outside.deeds) == 1
