import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import tick
from bench.course import RUN_UP_S, Clock, Course, Finish, time_run
from tests.house import ROOT


class Machine:
    """A clock that moves when somebody waits, and a worker that does so many jobs per second from a first batch on."""

    def __init__(self, rate: float, first_batch: int = 0, jobs: int = 10**9) -> None:
        self.now = 0.0
        self._rate, self._first, self._jobs = rate, first_batch, jobs

    def clock(self) -> Clock:
        return Clock(lambda: self.now, self._pass)

    def ticks(self) -> int:
        return min(self._jobs, self._first + int(self.now * self._rate))

    def _pass(self, seconds: float) -> None:
        self.now += seconds


def always() -> bool:
    return True


def test_a_drain_is_rated_from_the_run_up_to_the_last_settlement() -> None:
    machine = Machine(1000.0, jobs=10_000)
    drained = time_run(machine.ticks, Finish(10_000, always, box_s=60.0), machine.clock())
    assert drained.whole
    assert drained.jobs <= 9500
    assert drained.rate == pytest.approx(1000.0, rel=0.01)


@pytest.mark.parametrize("first_batch", [100, 499, 3000])
def test_a_first_batch_that_was_claimed_before_the_gun_flatters_nobody(first_batch: int) -> None:
    machine = Machine(1000.0, first_batch, jobs=10_000)
    drained = time_run(machine.ticks, Finish(10_000, always, box_s=60.0), machine.clock())
    assert drained.rate == pytest.approx(1000.0, rel=0.01)


def test_to_whom_the_run_up_is_long_the_clock_starts_all_the_same() -> None:
    machine = Machine(10.0, first_batch=5, jobs=10_000)
    drained = time_run(machine.ticks, Finish(10_000, always, box_s=5.0), machine.clock())
    assert machine.now == pytest.approx(RUN_UP_S + 5.0, rel=0.01)
    assert drained.rate == pytest.approx(10.0, rel=0.05)


def test_what_is_executed_and_not_settled_is_not_done() -> None:
    machine = Machine(1000.0, jobs=1000)
    late = Finish(1000, lambda: machine.now >= 1.9, box_s=60.0)
    drained = time_run(machine.ticks, late, machine.clock())
    assert drained.whole
    assert drained.rate == pytest.approx(500.0, rel=0.02)


def test_who_is_slower_than_the_box_is_rated_by_what_was_done_in_it() -> None:
    machine = Machine(10.0, jobs=10_000)
    drained = time_run(machine.ticks, Finish(10_000, always, box_s=5.0, patience_s=200.0), machine.clock())
    assert not drained.whole
    assert drained.rate == pytest.approx(10.0, rel=0.05)
    assert drained.seconds == pytest.approx(5.0, rel=0.05)


def test_who_stands_still_has_failed() -> None:
    machine = Machine(100.0, jobs=400)
    with pytest.raises(TimeoutError, match="400 of 1000 jobs were done, and for 60 s no other"):
        time_run(machine.ticks, Finish(1000, always, box_s=1000.0), machine.clock())


def test_a_backlog_that_is_gone_at_the_first_look_cannot_be_timed() -> None:
    for settled in (always, lambda: False):
        with pytest.raises(TimeoutError, match="take a larger backlog"):
            time_run(lambda: 10, Finish(10, settled, box_s=60.0), Machine(1.0).clock())


def test_without_a_run_up_the_clock_starts_at_the_gun() -> None:
    machine = Machine(100.0, jobs=200)
    drained = time_run(machine.ticks, Finish(200, always, box_s=60.0, run_up=0.0), machine.clock())
    assert (drained.jobs, drained.whole) == (200, True)
    assert drained.seconds == pytest.approx(2.0, rel=0.02)


def run_job(course: Course, *lines: str) -> None:
    program = "\n".join(["from bench import tick", *lines])
    environment = {**os.environ, tick.VARIABLE: str(course.folder)}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=60)  # noqa: S603  # our own program


def test_a_process_reports_waits_for_the_gun_and_is_counted(tmp_path: Path) -> None:
    course = Course(tmp_path / "course")
    assert (course.ticks(), course.ready(), course.arrivals_ms()) == (0, 0, [])
    course.fire()
    for expected in (1, 2):
        run_job(course, "tick.tick()", "tick.tick()", "tick.arrive(0)")
        assert (course.ticks(), course.ready(), len(course.arrivals_ms())) == (2 * expected, expected, expected)


def test_coroutines_are_counted_too(tmp_path: Path) -> None:
    course = Course(tmp_path / "course")
    course.fire()
    run_job(course, "import asyncio", "asyncio.run(tick.nap_lightly(0))", "tick.nap(0)")
    assert (course.ticks(), course.ready()) == (2, 1)


def test_a_course_begins_empty(tmp_path: Path) -> None:
    before = Course(tmp_path)
    before.fire()
    (tmp_path / "ticks").write_text("...")
    assert before.ticks() == 3
    assert Course(tmp_path).ticks() == 0
    assert not (tmp_path / "gun").exists()


def test_gaps_are_random_and_the_same_for_everybody() -> None:
    gaps = tick.gaps(500)
    assert gaps == tick.gaps(500)
    assert len(set(gaps)) == 500
    assert all(gap > 0 for gap in gaps)
