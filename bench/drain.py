"""Drains a backlog: restore it, let every process reach its first job, fire, and take the time until all is settled."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.contender import Contender, Setting, running
from bench.course import RUN_UP, Clock, Course, Drained, Finish, time_run
from sandbox.servers.child_process import ChildProcess
from sandbox.servers.waiting import wait_until

START_S = 90.0
GRACE_S = 5.0
"""How long the first process at the line waits for the others: one may hold all of a small backlog."""
STILL_S = 0.5
"""After the last process is ready, for claims and pools to fill, the same for all."""


@dataclass(frozen=True)
class Heat:
    """One way to drain: whose, how, which job, how many."""

    contender: Contender
    setting: Setting
    job: str
    jobs: int
    box_s: float
    run_up: float = RUN_UP

    @property
    def title(self) -> str:
        """For the report."""
        return f"{self.contender.name} ({self.setting.label})"


def drain(heat: Heat, folder: Path, watch: Callable[[list[ChildProcess], Course], object] | None = None) -> Drained:
    """Run one; `watch` is called between the gun and the end. `RuntimeError` when its workers die."""
    heat.contender.restore(heat.job, heat.jobs)
    course = Course(folder / "course")
    log = folder / f"{heat.contender.name}.log"
    finish = Finish(heat.jobs, heat.contender.settled, heat.box_s, run_up=heat.run_up)
    with running(heat.contender, heat.setting, course, log) as children:
        line_up(course, heat.setting, children)
        course.fire()
        watcher = _start(lambda: watch(children, course)) if watch else None
        drained = time_run(course.ticks, finish, Clock(time.perf_counter, threading.Event().wait))
        if watcher:
            watcher.join(START_S)
        return drained


def line_up(course: Course, setting: Setting, children: list[ChildProcess]) -> None:
    """Wait until every process stands in its first job."""

    def ready(processes: int) -> bool:
        dead = [child for child in children if not child.running]
        if dead:
            raise RuntimeError(f"a worker ended with status {dead[0].exit_status}: {dead[0].read_log()[-2000:]}")
        return course.ready() >= processes

    wait_until(lambda: ready(1), within=START_S, describe="the first process to begin a job")
    deadline = time.monotonic() + GRACE_S
    wait_until(lambda: ready(setting.ready) or time.monotonic() > deadline, within=START_S, describe="the others")
    threading.Event().wait(STILL_S)


def _start(watch: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread
