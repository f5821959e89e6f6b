"""Times one drain: when the clock starts, when it stops, and the rate that follows."""

from collections.abc import Callable
from dataclasses import dataclass

WARM_UP, WARM_UP_S = 0.1, 3.0
"""The clock starts when this share of the backlog is done, or after so many seconds, whichever comes first.

The first claims are made before the start barrier opens and must not count. A tenth of a backlog of 10,000 jobs or more
is larger than anything that a contender prefetches.
"""


@dataclass(frozen=True)
class Clock:
    """Monotonic seconds, and a function that waits."""

    now: Callable[[], float]
    wait: Callable[[float], object]


@dataclass(frozen=True)
class Drained:
    """How many jobs were done in how many seconds; `whole` when the backlog was emptied within the time limit."""

    jobs: int
    seconds: float
    whole: bool

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


@dataclass(frozen=True)
class Finish:
    """When a run ends: all `jobs` are executed and settled in the contender's store, or the time limit has passed."""

    jobs: int
    settled: Callable[[], bool]
    time_limit_s: float
    stall_s: float = 60.0
    """A run in which no job was executed for so many seconds has failed."""
    warm_up: float = WARM_UP


def time_drain(jobs_done: Callable[[], int], finish: Finish, clock: Clock) -> Drained:
    """Time a drain from the end of the warm-up to the last settlement.

    Jobs executed during the warm-up do not count. A contender that does not empty the backlog within the time limit is
    rated by the jobs it executed until then. `TimeoutError` when it executes nothing for `finish.stall_s` seconds.
    """
    released_at = clock.now()
    enough = int(finish.jobs * finish.warm_up)
    start = _poll(
        jobs_done,
        finish,
        clock,
        until=lambda done: done >= enough or (done > 0 and clock.now() - released_at >= WARM_UP_S),
    )
    if start.done >= finish.jobs:
        raise TimeoutError("the run was over before the clock could start: take a larger backlog")
    end = _poll(
        jobs_done,
        finish,
        clock,
        until=lambda done: (done >= finish.jobs and finish.settled()) or clock.now() - start.at >= finish.time_limit_s,
    )
    done = min(end.done, finish.jobs)
    return Drained(done - start.done, end.at - start.at, whole=end.over)


@dataclass(frozen=True)
class _Seen:
    done: int
    at: float
    over: bool


def _poll(jobs_done: Callable[[], int], finish: Finish, clock: Clock, *, until: Callable[[int], bool]) -> _Seen:
    moved_at, last = clock.now(), -1
    while True:
        done = jobs_done()
        if until(done):
            return _Seen(done, clock.now(), over=done >= finish.jobs and finish.settled())
        if done != last:
            moved_at, last = clock.now(), done
        elif clock.now() - moved_at > finish.stall_s:
            raise TimeoutError(f"{done} of {finish.jobs} jobs were done, and for {finish.stall_s:g} s no other")
        clock.wait(0.002 if done < finish.jobs else 0.01)
