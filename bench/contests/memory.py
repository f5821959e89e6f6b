"""Memory: resident and proportional set size of every worker process, idle and while it runs 200,000 jobs."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import psutil

from bench.contenders.contender import Contender, Setting
from bench.contenders.ours import ONE, PREFORK
from bench.contenders.peer import Peer
from bench.contenders.peer_settings import PLAIN_CELERY
from bench.contest import FAILURES, Contest, Target, describe_failure
from bench.drain import DrainRun, drain
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from sandbox.servers.child_process import ChildProcess

MIB = 2**20
EARLY, LATE = 0.1, 0.99
MOMENTS = {"after a tenth": EARLY, "half-way": 0.5, "at the end": LATE}
TIME_LIMIT_S = 900.0
PEER_JOBS = 20_000
FLAT = Target("ratio", "at least", 0.95)
WORKERS = {"memory_worker_mib": (ONE, "noop"), "memory_prefork_worker_mib": (PREFORK, "noop")}
"""The workers to measure, and the job that each runs."""


@dataclass(frozen=True)
class Size:
    """Resident and proportional set size of one process at one moment, in MiB."""

    rss: float
    pss: float


@dataclass(frozen=True)
class MemoryUse:
    """The size of every process of a worker at each moment, by process id."""

    moments: Mapping[str, Mapping[int, Size]]

    def greatest(self, moment: str) -> float:
        """The resident size of the largest process."""
        return max(size.rss for size in self.moments[moment].values())

    def as_facts(self) -> dict[str, list[dict[str, float]]]:
        """The sizes for the results, the processes in the same order at every moment."""
        return {
            moment: [{"rss": round(size.rss, 1), "pss": round(size.pss, 1)} for _, size in sorted(sizes.items())]
            for moment, sizes in self.moments.items()
        }


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Our threads worker and our prefork worker, each beside plain Celery's."""
    jobs = setup.sizes.memory_jobs
    celery = setup.peer(PLAIN_CELERY)
    theirs = _try_peer(setup, celery, min(jobs, PEER_JOBS)) if celery else None
    for name, (setting, job) in WORKERS.items():
        if not setup.wants(name) and not setup.wants(f"{name}_growth"):
            continue
        ours = measure(setup, setup.ours, setting, job, jobs)
        facts = {"jobs": jobs, "ours_setting": setting.label, "processes_mib": ours.as_facts()}
        peer = (theirs.greatest("at the end"),) if theirs else ()
        limit = (Target("ours", "at most", 120),)
        most = (ours.greatest("at the end"),)
        yield Contest(name, most, peer, unit="MiB", better="lower", targets=limit, facts=facts)
        early = (ours.greatest("after a tenth"),)
        remark = {"jobs": jobs, "peer_setting": "the same process after a tenth of the jobs"}
        yield Contest(f"{name}_growth", most, early, unit="MiB", better="lower", targets=(FLAT,), facts=remark)


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return [contest for name in WORKERS for contest in (name, f"{name}_growth")]


GROUP = ContestGroup("memory", names, run_contests)


def measure(setup: Setup, contender: Contender, setting: Setting, job: str, jobs: int) -> MemoryUse:
    """Drain, and measure at the start and at each moment."""
    seen: dict[str, dict[int, Size]] = {}

    def watch(children: list[ChildProcess], run_folder: RunFolder) -> None:
        seen["at the start"] = sizes(children)
        for moment, share in MOMENTS.items():
            _reach(run_folder, int(jobs * share), children)
            seen[moment] = sizes(children)

    drained = drain(DrainRun(contender, setting, job, jobs, TIME_LIMIT_S), setup.folder, watch)
    if not drained.whole or len(seen) <= len(MOMENTS):
        raise RuntimeError(f"{contender.name} did not finish {jobs} jobs in {TIME_LIMIT_S:g} s")
    setup.print_line(f"memory of {contender.name}, {setting.label}: {MemoryUse(seen).greatest('at the end'):.0f} MiB")
    return MemoryUse(seen)


def _try_peer(setup: Setup, peer: Peer, jobs: int) -> MemoryUse | None:
    try:
        return measure(setup, peer, peer.kind.drain[0], "noop", jobs)
    except FAILURES as error:
        setup.note_dropped("memory", {peer.name: describe_failure(error)})
        return None


def sizes(children: list[ChildProcess]) -> dict[int, Size]:
    """The size of each of these processes and of the processes they have started."""
    families = [psutil.Process(child.pid) for child in children if child.running]
    everybody = [process for head in families for process in (head, *head.children(recursive=True))]
    return {process.pid: _size(process.memory_full_info) for process in everybody}


def _size(look: Callable[[], object]) -> Size:
    info = look()
    return Size(getattr(info, "rss", 0) / MIB, getattr(info, "pss", 0) / MIB)


def _reach(run_folder: RunFolder, jobs_done: int, children: list[ChildProcess]) -> None:
    while run_folder.jobs_done() < jobs_done and all(child.running for child in children):
        threading.Event().wait(0.05)
