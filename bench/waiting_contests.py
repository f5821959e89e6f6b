"""I/O-bound work: jobs that wait 100 ms each, on one process of 200 threads, against the ideal and the peers."""

from collections.abc import Callable, Iterable

from bench.arena import Arena, Sizes, Stage
from bench.contest import Contest, Target, take_turns
from bench.drain import Heat, drain
from bench.lineup import DURABLE, OTHERS, PLAIN_CELERY
from bench.noop_jobs import NAP_S
from bench.ours import NAPPING

NAPS, THREADS = 2000, 200
IDEAL_S = NAPS * NAP_S / THREADS
TARGET = Target("ratio", "at least", round(1 / 1.3, 3))
KINDS = (PLAIN_CELERY, *DURABLE, *OTHERS)


def hold(arena: Arena) -> Iterable[Contest]:
    """Seconds from the gun to the last settlement, all in turns."""
    box = 60.0
    heats = {"postroom": Heat(arena.ours, NAPPING, "nap", NAPS, box, run_up=0.0)}
    for peer in arena.peers(KINDS):
        if peer.kind.nap and (arena.wants("io_bound_vs_ideal") or arena.wants(f"io_bound_vs_{peer.name}")):
            heats[peer.name] = Heat(peer, peer.kind.nap, "nap", NAPS, box, run_up=0.0)

    def runner(name: str) -> Callable[[], float]:
        return lambda: NAPS / drain(heats[name], arena.folder).rate

    runners = {name: runner(name) for name in heats}
    rounds = take_turns(runners, arena.sizes.rounds, lambda told: arena.tell(f"seconds of I/O-bound jobs, {told}"))
    arena.dropped("io_bound", dict(rounds.dropped))
    ours = rounds.figures.get("postroom")
    if ours is None:
        return
    facts = {"jobs": NAPS, "nap_s": NAP_S, "ours_setting": NAPPING.label}
    ideal = (IDEAL_S,) * len(ours)
    yield Contest("io_bound_vs_ideal", ours, ideal, unit="s", better="lower", targets=(TARGET,), facts=facts)
    for name, theirs in rounds.figures.items():
        if name != "postroom":
            told = facts | {"peer_setting": heats[name].title}
            yield Contest(f"io_bound_vs_{name}", ours, theirs, unit="s", better="lower", facts=told)


def names(_sizes: Sizes) -> list[str]:
    """What it can hold."""
    return ["io_bound_vs_ideal", *(f"io_bound_vs_{kind.name}" for kind in KINDS if kind.nap)]


STAGE = Stage("io_bound", names, hold)
