"""What its worker cannot do waits for another one: longer each time, at no cost, and not for ever."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Busy, ClaimLost, ForOtherWorker, InFlight
from domain.jobs.job import ClaimedJob, Origin, State
from domain.jobs.lifecycle import Settlement, settlement_of
from domain.jobs.retry import LEAST_REST, LONGEST_WAIT_FOR_OTHER, MOST_RETURNS, PIPELINE, WAIT_FOR_OTHER, free_wait

NOW = datetime(2026, 11, 25, tzinfo=UTC)
LACKS = ForOtherWorker("the key is another worker's", code="seal.unknown_key")
JOB = ClaimedJob(
    UUID(int=2), Origin(), UUID(int=1), "probe.run", "default", UUID(int=3), None, {}, 1, 1, 3, 0,
    timedelta(minutes=1), NOW,
)  # fmt: skip


def left_to_another(*, returns: int, attempt: int = 1) -> Settlement:
    return settlement_of(JOB._replace(returns=returns, attempt=attempt), LACKS, PIPELINE, NOW, 0.0)


def test_it_rests_longer_each_time_and_outlasts_a_deploy_without_an_attempt_spent() -> None:
    backs = [left_to_another(returns=returns) for returns in range(MOST_RETURNS)]
    assert {(back.state, back.attempt_delta, back.returns) for back in backs} == {(State.QUEUED, -1, 1)}
    rests = [back.run_at - NOW for back in backs if back.run_at]
    assert (rests[0], rests[-1]) == (WAIT_FOR_OTHER, LONGEST_WAIT_FOR_OTHER)
    assert all(earlier <= later for earlier, later in pairwise(rests))
    assert sum(rests, timedelta(0)) > timedelta(hours=1)


def test_past_its_bound_it_spends_attempts_as_slowly_and_ends_with_its_reason() -> None:
    """A job with many snoozes is past its bound already: it, too, must outlast a restart of the others."""
    for attempt in range(1, JOB.max_attempts):
        spent = left_to_another(returns=MOST_RETURNS, attempt=attempt)
        assert (spent.state, spent.attempt_delta, spent.returns) == (State.QUEUED, 0, 0)
        assert spent.run_at == NOW + LONGEST_WAIT_FOR_OTHER
        assert spent.detail["run_at"] == spent.run_at.isoformat()
    end = left_to_another(returns=MOST_RETURNS, attempt=JOB.max_attempts)
    assert end.state is State.DEAD
    assert end.error == {"code": "seal.unknown_key", "reason": LACKS.reason, "attempt": JOB.max_attempts}


@given(st.integers(0, 10_000), st.timedeltas(timedelta(0), timedelta(hours=1)))
def test_no_free_return_is_without_a_rest(returns: int, wait: timedelta) -> None:
    for failure in (ClaimLost("-"), InFlight("-", wait=wait), Busy("-", wait=wait), LACKS):
        assert free_wait(failure, returns).lasts >= LEAST_REST
    assert free_wait(LACKS, returns).lasts <= LONGEST_WAIT_FOR_OTHER
    assert free_wait(InFlight("-", wait=wait), returns).lasts >= wait
    assert free_wait(Busy("-", wait=wait), returns).lasts >= wait
