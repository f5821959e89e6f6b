"""Drains a backlog: restore it, wait for every process, release the start barrier, and time it until all is settled."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.contenders.contender import Contender, Setting, running
from bench.run_folder import RunFolder
from bench.timing import WARM_UP, Clock, Drained, Finish, time_drain
from sandbox.servers.child_process import ChildProcess
from sandbox.servers.waiting import wait_until

START_S = 90.0
GRACE_S = 5.0
"""How long the first ready process waits for the others; with a small backlog one process may hold all jobs."""
SETTLE_S = 0.5
"""Between the last process's readiness and the start, so that claims and pools fill; the same for every contender."""


@dataclass(frozen=True)
class DrainRun:
    """One drain to run: of which contender, with which setting, of which job, how many, in how many seconds."""

    contender: Contender
    setting: Setting
    job: str
    jobs: int
    time_limit_s: float
    warm_up: float = WARM_UP
    backlog_share: float = 1.0
    """How much of the jobs the backlog holds; they enqueue the others."""

    @property
    def backlog(self) -> int:
        """How many jobs the backlog holds."""
        return int(self.jobs * self.backlog_share)

    @property
    def title(self) -> str:
        """Contender and setting, for the report."""
        return f"{self.contender.name} ({self.setting.label})"


def drain(
    run: DrainRun, folder: Path, watch: Callable[[list[ChildProcess], RunFolder], object] | None = None
) -> Drained:
    """Run one drain; `watch` runs in a thread from the start to the end. `RuntimeError` when a worker dies."""
    run.contender.restore(run.job, run.backlog)
    run_folder = RunFolder(folder / "run")
    log = folder / f"{run.contender.name}.log"
    finish = Finish(run.jobs, run.contender.settled, run.time_limit_s, warm_up=run.warm_up)
    with running(run.contender, run.setting, run_folder, log) as children:
        wait_until_ready(run_folder, run.setting, children)
        run_folder.release_start_barrier()
        watcher = _start(lambda: watch(children, run_folder)) if watch else None
        drained = time_drain(run_folder.jobs_done, finish, Clock(time.perf_counter, threading.Event().wait))
        if watcher:
            watcher.join(START_S)
        return drained


def wait_until_ready(run_folder: RunFolder, setting: Setting, children: list[ChildProcess]) -> None:
    """Wait until every process has begun its first job; `RuntimeError` with its log when one dies."""

    def ready(processes: int) -> bool:
        dead = [child for child in children if not child.running]
        if dead:
            raise RuntimeError(f"a worker ended with status {dead[0].exit_status}: {dead[0].read_log()[-2000:]}")
        return run_folder.ready() >= processes

    wait_until(lambda: ready(1), within=START_S, describe="the first process to begin a job")
    deadline = time.monotonic() + GRACE_S
    wait_until(lambda: ready(setting.ready) or time.monotonic() > deadline, within=START_S, describe="the others")
    threading.Event().wait(SETTLE_S)


def _start(watch: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread
