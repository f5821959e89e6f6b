"""Memory: resident and proportional size of every worker process, idle, and while it runs very many light jobs."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import psutil

from bench.arena import Arena, Sizes, Stage
from bench.contender import Contender, Setting
from bench.contest import FAILURES, Contest, Target, told_by
from bench.course import Course
from bench.drain import Heat, drain
from bench.lineup import PLAIN_CELERY
from bench.ours import ONE, PREFORK
from bench.peer import Peer
from sandbox.servers.child_process import ChildProcess

MIB = 2**20
EARLY, LATE = 0.1, 0.99
MOMENTS = {"after a tenth": EARLY, "half-way": 0.5, "at the end": LATE}
BOX_S = 900.0
PEER_JOBS = 20_000
FLAT = Target("ratio", "at least", 0.95)
WORKERS = {"memory_worker_mib": (ONE, "light_noop"), "memory_prefork_worker_mib": (PREFORK, "noop")}
"""Whom to weigh, and at which job."""


@dataclass(frozen=True)
class Size:
    """One process at one moment, in MiB."""

    rss: float
    pss: float


@dataclass(frozen=True)
class Weighed:
    """Every process of a worker at each moment."""

    moments: Mapping[str, Mapping[int, Size]]

    def greatest(self, moment: str) -> float:
        """The resident size of the largest process."""
        return max(size.rss for size in self.moments[moment].values())

    def told(self) -> dict[str, list[dict[str, float]]]:
        """For the results, the processes in the same order at every moment."""
        return {
            moment: [{"rss": round(size.rss, 1), "pss": round(size.pss, 1)} for _, size in sorted(sizes.items())]
            for moment, sizes in self.moments.items()
        }


def hold(arena: Arena) -> Iterable[Contest]:
    """Threads and prefork of ours; plain Celery's processes beside them."""
    jobs = arena.sizes.memory_jobs
    celery = arena.peer(PLAIN_CELERY)
    theirs = _try_peer(arena, celery, min(jobs, PEER_JOBS)) if celery else None
    for name, (setting, job) in WORKERS.items():
        if not arena.wants(name) and not arena.wants(f"{name}_growth"):
            continue
        ours = weigh(arena, arena.ours, setting, job, jobs)
        facts = {"jobs": jobs, "ours_setting": setting.label, "processes_mib": ours.told()}
        peer = (theirs.greatest("at the end"),) if theirs else ()
        limit = (Target("ours", "at most", 120),)
        most = (ours.greatest("at the end"),)
        yield Contest(name, most, peer, unit="MiB", better="lower", targets=limit, facts=facts)
        early = (ours.greatest("after a tenth"),)
        remark = {"jobs": jobs, "peer_setting": "the same process after a tenth of the jobs"}
        yield Contest(f"{name}_growth", most, early, unit="MiB", better="lower", targets=(FLAT,), facts=remark)


def names(_sizes: Sizes) -> list[str]:
    """What it can hold."""
    return [told for name in WORKERS for told in (name, f"{name}_growth")]


STAGE = Stage("memory", names, hold)


def weigh(arena: Arena, contender: Contender, setting: Setting, job: str, jobs: int) -> Weighed:
    """Drain, and weigh at the gun and at each moment."""
    seen: dict[str, dict[int, Size]] = {}

    def watch(children: list[ChildProcess], course: Course) -> None:
        seen["at the gun"] = sizes(children)
        for moment, share in MOMENTS.items():
            _reach(course, int(jobs * share), children)
            seen[moment] = sizes(children)

    drained = drain(Heat(contender, setting, job, jobs, BOX_S), arena.folder, watch)
    if not drained.whole or len(seen) <= len(MOMENTS):
        raise RuntimeError(f"{contender.name} did not finish {jobs} jobs in {BOX_S:g} s")
    arena.tell(f"memory of {contender.name}, {setting.label}: {Weighed(seen).greatest('at the end'):.0f} MiB")
    return Weighed(seen)


def _try_peer(arena: Arena, peer: Peer, jobs: int) -> Weighed | None:
    try:
        return weigh(arena, peer, peer.kind.drain[0], "noop", jobs)
    except FAILURES as error:
        arena.dropped("memory", {peer.name: told_by(error)})
        return None


def sizes(children: list[ChildProcess]) -> dict[int, Size]:
    """Every process that these children are or have started."""
    families = [psutil.Process(child.pid) for child in children if child.running]
    everybody = [process for head in families for process in (head, *head.children(recursive=True))]
    return {process.pid: _size(process.memory_full_info) for process in everybody}


def _size(look: Callable[[], object]) -> Size:
    told = look()
    return Size(getattr(told, "rss", 0) / MIB, getattr(told, "pss", 0) / MIB)


def _reach(course: Course, ticks: int, children: list[ChildProcess]) -> None:
    while course.ticks() < ticks and all(child.running for child in children):
        threading.Event().wait(0.05)
