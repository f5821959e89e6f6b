"""A job of a newer payload goes back, spends no attempt, and does not go back for ever."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.job import ClaimedJob, Origin, State
from domain.jobs.newer_payloads import MOST_RETURNS, REST, give_back_newer

NOW = datetime(2026, 11, 23, tzinfo=UTC)


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(0, 2 * MOST_RETURNS))
def test_it_goes_back_while_it_is_newer_and_has_not_come_too_often(version: int, known: int, returns: int) -> None:
    job = ClaimedJob(
        UUID(int=2), Origin(), UUID(int=1), "probe.run", "default", UUID(int=3), None, {}, version, 1, 5, 0,
        timedelta(minutes=1), NOW, returns=returns,
    )  # fmt: skip
    back = give_back_newer(job, known, NOW)
    assert (back is not None) == (version > known and returns < MOST_RETURNS)
    if back is not None:
        assert (back.state, back.attempt_delta, back.returns, back.run_at) == (State.QUEUED, -1, 1, NOW + REST)
