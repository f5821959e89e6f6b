"""One run's folder: how many jobs are done, which processes are ready, the starting gun; and what a run amounts to."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RUN_UP, RUN_UP_S = 0.1, 3.0
"""The share of a backlog that is let pass before the clock starts, for the first claims were made before the gun.

It is more than anybody prefetches, from 10,000 jobs on. After so many seconds the clock starts all the same, for those
to whom that share is long.
"""


class Course:
    """What `bench.tick` writes and reads."""

    def __init__(self, folder: Path) -> None:
        """Begin with an empty folder."""
        self.folder = folder.absolute()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def ticks(self) -> int:
        """Jobs that were executed."""
        file = self.folder / "ticks"
        return file.stat().st_size if file.exists() else 0

    def ready(self) -> int:
        """Processes that stand in their first job."""
        file = self.folder / "ready"
        return len(set(file.read_text().split())) if file.exists() else 0

    def fire(self) -> None:
        """Let all begin."""
        (self.folder / "gun").touch()

    def arrivals_ms(self) -> list[float]:
        """How late each job began, in milliseconds."""
        file = self.folder / "arrivals"
        return [int(line) / 1e6 for line in file.read_text().split()] if file.exists() else []


@dataclass(frozen=True)
class Clock:
    """Monotonic seconds, and a way to let some pass."""

    now: Callable[[], float]
    wait: Callable[[float], object]


@dataclass(frozen=True)
class Drained:
    """How many jobs were done in how many seconds; `whole` when the backlog was emptied before the time was up."""

    jobs: int
    seconds: float
    whole: bool

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.jobs / self.seconds


@dataclass(frozen=True)
class Finish:
    """When a run is over: this many jobs, all settled in the system's own store, or after `box_s` seconds."""

    jobs: int
    settled: Callable[[], bool]
    box_s: float
    patience_s: float = 60.0
    """Seconds without a single tick after which a run has failed."""
    run_up: float = RUN_UP


def time_run(ticks: Callable[[], int], finish: Finish, clock: Clock) -> Drained:
    """Time a backlog's drain, from the first look that sees the run-up passed to the last settlement.

    The jobs that were executed at the first look do not count. A system that is slower than the box lets it be is rated
    by what it executed in it. `TimeoutError` when it stands still.
    """
    gun = clock.now()
    enough = int(finish.jobs * finish.run_up)
    start = _look(
        ticks, finish, clock, until=lambda done: done >= enough or (done > 0 and clock.now() - gun >= RUN_UP_S)
    )
    if start.done >= finish.jobs:
        raise TimeoutError("the run was over before the clock could start: take a larger backlog")
    end = _look(
        ticks,
        finish,
        clock,
        until=lambda done: (done >= finish.jobs and finish.settled()) or clock.now() - start.at >= finish.box_s,
    )
    done = min(end.done, finish.jobs)
    return Drained(done - start.done, end.at - start.at, whole=end.over)


@dataclass(frozen=True)
class _Seen:
    done: int
    at: float
    over: bool


def _look(ticks: Callable[[], int], finish: Finish, clock: Clock, *, until: Callable[[int], bool]) -> _Seen:
    moved_at, last = clock.now(), -1
    while True:
        done = ticks()
        if until(done):
            return _Seen(done, clock.now(), over=done >= finish.jobs and finish.settled())
        if done != last:
            moved_at, last = clock.now(), done
        elif clock.now() - moved_at > finish.patience_s:
            raise TimeoutError(f"{done} of {finish.jobs} jobs were done, and for {finish.patience_s:g} s no other")
        clock.wait(0.002 if done < finish.jobs else 0.01)
