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
OURS = {"postroom": "nap", "postroom, light": "light_nap"}
"""The same nap as an ordinary job, which has a Celery request, and as a light one, which has none."""

IDEALS = {"postroom": "io_bound_vs_ideal", "postroom, light": "io_bound_light_vs_ideal"}
KINDS = (PLAIN_CELERY, *DURABLE, *OTHERS)


def hold(arena: Arena) -> Iterable[Contest]:
    """Seconds from the gun to the last settlement, all in turns."""
    box = 60.0
    heats = {name: Heat(arena.ours, NAPPING, job, NAPS, box, run_up=0.0) for name, job in OURS.items()}
    for peer in arena.peers(KINDS):
        if peer.kind.nap and (arena.wants(IDEALS["postroom"]) or arena.wants(f"io_bound_vs_{peer.name}")):
            heats[peer.name] = Heat(peer, peer.kind.nap, "nap", NAPS, box, run_up=0.0)

    def runner(name: str) -> Callable[[], float]:
        return lambda: NAPS / drain(heats[name], arena.folder).rate

    runners = {name: runner(name) for name in heats}
    rounds = take_turns(runners, arena.sizes.rounds, lambda told: arena.tell(f"seconds of I/O-bound jobs, {told}"))
    arena.dropped("io_bound", dict(rounds.dropped))
    facts = {"jobs": NAPS, "nap_s": NAP_S, "ours_setting": NAPPING.label}
    for name, job in OURS.items():
        if own := rounds.figures.get(name):
            told, ideal = facts | {"ours_job": job}, (IDEAL_S,) * len(own)
            yield Contest(IDEALS[name], own, ideal, unit="s", better="lower", targets=(TARGET,), facts=told)
    ours = rounds.figures.get("postroom")
    for name, theirs in rounds.figures.items() if ours else ():
        if name not in OURS:
            told = facts | {"ours_job": OURS["postroom"], "peer_setting": heats[name].title}
            yield Contest(f"io_bound_vs_{name}", ours or (), theirs, unit="s", better="lower", facts=told)


def names(_sizes: Sizes) -> list[str]:
    """What it can hold."""
    return [*IDEALS.values(), *(f"io_bound_vs_{kind.name}" for kind in KINDS if kind.nap)]


STAGE = Stage("io_bound", names, hold)
