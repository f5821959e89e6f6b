import pytest

from bench.timing import WARM_UP_S, Clock, Finish, time_drain


class Machine:
    """A clock that moves when it is asked to wait, and a worker with a constant rate after a first batch."""

    def __init__(self, rate: float, first_batch: int = 0, jobs: int = 10**9) -> None:
        self.now = 0.0
        self._rate, self._first, self._jobs = rate, first_batch, jobs

    def clock(self) -> Clock:
        return Clock(lambda: self.now, self._pass)

    def jobs_done(self) -> int:
        return min(self._jobs, self._first + int(self.now * self._rate))

    def _pass(self, seconds: float) -> None:
        self.now += seconds


def always() -> bool:
    return True


def test_a_drain_is_rated_from_the_end_of_the_warm_up_to_the_last_settlement() -> None:
    machine = Machine(1000.0, jobs=10_000)
    drained = time_drain(machine.jobs_done, Finish(10_000, always, time_limit_s=60.0), machine.clock())
    assert drained.whole
    assert drained.jobs <= 9500
    assert drained.rate == pytest.approx(1000.0, rel=0.01)


@pytest.mark.parametrize("first_batch", [100, 499, 3000])
def test_a_first_batch_that_was_claimed_before_the_start_does_not_count(first_batch: int) -> None:
    machine = Machine(1000.0, first_batch, jobs=10_000)
    drained = time_drain(machine.jobs_done, Finish(10_000, always, time_limit_s=60.0), machine.clock())
    assert drained.rate == pytest.approx(1000.0, rel=0.01)


def test_the_clock_starts_after_seconds_when_the_warm_up_is_long() -> None:
    machine = Machine(10.0, first_batch=5, jobs=10_000)
    drained = time_drain(machine.jobs_done, Finish(10_000, always, time_limit_s=5.0), machine.clock())
    assert machine.now == pytest.approx(WARM_UP_S + 5.0, rel=0.01)
    assert drained.rate == pytest.approx(10.0, rel=0.05)


def test_a_job_that_is_executed_and_not_settled_is_not_done() -> None:
    machine = Machine(1000.0, jobs=1000)
    late = Finish(1000, lambda: machine.now >= 1.9, time_limit_s=60.0)
    drained = time_drain(machine.jobs_done, late, machine.clock())
    assert drained.whole
    assert drained.rate == pytest.approx(500.0, rel=0.02)


def test_a_contender_that_needs_longer_than_the_limit_is_rated_by_the_jobs_done_in_it() -> None:
    machine = Machine(10.0, jobs=10_000)
    drained = time_drain(machine.jobs_done, Finish(10_000, always, time_limit_s=5.0, stall_s=200.0), machine.clock())
    assert not drained.whole
    assert drained.rate == pytest.approx(10.0, rel=0.05)
    assert drained.seconds == pytest.approx(5.0, rel=0.05)


def test_a_run_that_stalls_has_failed() -> None:
    machine = Machine(100.0, jobs=400)
    with pytest.raises(TimeoutError, match="400 of 1000 jobs were done, and for 60 s no other"):
        time_drain(machine.jobs_done, Finish(1000, always, time_limit_s=1000.0), machine.clock())


def test_a_backlog_that_is_empty_at_the_first_poll_cannot_be_timed() -> None:
    for settled in (always, lambda: False):
        with pytest.raises(TimeoutError, match="take a larger backlog"):
            time_drain(lambda: 10, Finish(10, settled, time_limit_s=60.0), Machine(1.0).clock())


def test_without_a_warm_up_the_clock_starts_at_the_start() -> None:
    machine = Machine(100.0, jobs=200)
    drained = time_drain(machine.jobs_done, Finish(200, always, time_limit_s=60.0, warm_up=0.0), machine.clock())
    assert (drained.jobs, drained.whole) == (200, True)
    assert drained.seconds == pytest.approx(2.0, rel=0.02)
