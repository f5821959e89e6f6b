"""I/O-bound jobs of 100 ms each on one process of 200 threads, against the ideal and the peers."""

from collections.abc import Callable, Iterable

from bench.contenders.ours import IO_BOUND
from bench.contenders.peer_settings import DURABLE, OTHERS, PLAIN_CELERY
from bench.contest import Contest, Target, take_turns
from bench.drain import DrainRun, drain
from bench.noop_jobs import WAIT_S
from bench.setup import ContestGroup, Setup, Sizes

JOBS, THREADS = 2000, 200
TIME_LIMIT_S = 60.0
IDEAL_S = JOBS * WAIT_S / THREADS
TARGET = Target("ratio", "at least", round(1 / 1.3, 3))
OURS, IDEAL = "postroom", "io_bound_vs_ideal"
KINDS = (PLAIN_CELERY, *DURABLE, *OTHERS)


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Seconds from the start to the last settlement, all contenders in turns."""
    runs = {OURS: DrainRun(setup.ours, IO_BOUND, "io_bound", JOBS, TIME_LIMIT_S, warm_up=0.0)}
    for peer in setup.peers(KINDS):
        if peer.kind.io_bound and (setup.wants(IDEAL) or setup.wants(f"io_bound_vs_{peer.name}")):
            runs[peer.name] = DrainRun(peer, peer.kind.io_bound, "io_bound", JOBS, TIME_LIMIT_S, warm_up=0.0)

    def runner(name: str) -> Callable[[], float]:
        return lambda: JOBS / drain(runs[name], setup.folder).rate

    runners = {name: runner(name) for name in runs}
    rounds = take_turns(
        runners, setup.sizes.rounds, lambda line: setup.print_line(f"seconds of I/O-bound jobs, {line}")
    )
    setup.note_dropped("io_bound", dict(rounds.dropped))
    facts = {"jobs": JOBS, "wait_s": WAIT_S, "ours_setting": IO_BOUND.label}
    ours = rounds.figures.get(OURS)
    if ours:
        ideal = (IDEAL_S,) * len(ours)
        yield Contest(IDEAL, ours, ideal, unit="s", better="lower", targets=(TARGET,), facts=facts)
    for name, theirs in rounds.figures.items() if ours else ():
        if name != OURS:
            case_facts = facts | {"peer_setting": runs[name].title}
            yield Contest(f"io_bound_vs_{name}", ours or (), theirs, unit="s", better="lower", facts=case_facts)


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return [IDEAL, *(f"io_bound_vs_{kind.name}" for kind in KINDS if kind.io_bound)]


GROUP = ContestGroup("io_bound", names, run_contests)
