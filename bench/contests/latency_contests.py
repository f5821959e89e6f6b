"""Idle latency: from the call that enqueues to the handler's first line, one job at a time with random gaps."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bench.arena import Arena, Sizes, Stage
from bench.contender import Contender, Setting, running
from bench.contest import Contest, Target, take_turns
from bench.course import Course
from bench.lineup import DURABLE, PLAIN_CELERY
from bench.ours import ONE
from sandbox.servers.waiting import wait_until

P50, P99 = "idle_latency_p50_ms", "idle_latency_p99_ms"
TARGETS = {P50: (Target("ours", "at most", 10),), P99: (Target("ours", "at most", 30),)}
WARM = 50
"""Jobs that are drained first, so that every connection and pool stands."""


@dataclass
class Late:
    """The percentiles of each round, by contender."""

    p50: dict[str, list[float]] = field(default_factory=dict)
    p99: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, arrivals_ms: list[float]) -> float:
        """Take in a round's samples; returns their median."""
        p50, p99 = percentiles(arrivals_ms)
        self.p50.setdefault(name, []).append(p50)
        self.p99.setdefault(name, []).append(p99)
        return p50


def percentiles(samples: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    cuts = statistics.quantiles(samples, n=100, method="inclusive")
    return cuts[49], cuts[98]


def hold(arena: Arena) -> Iterable[Contest]:
    """Ours against plain Celery, and beside it the durable peers that have a setting for it."""
    settings: dict[str, tuple[Contender, Setting]] = {"postroom": (arena.ours, ONE)}
    for peer in arena.peers((PLAIN_CELERY, *DURABLE)):
        if peer.kind.idle:
            settings[peer.name] = (peer, peer.kind.idle)
    late = Late()

    def runner(name: str) -> Callable[[], float]:
        return lambda: late.note(name, sample(arena, *settings[name]))

    runners = {name: runner(name) for name in settings}
    rounds = take_turns(runners, arena.sizes.rounds, lambda told: arena.tell(f"idle latency in ms, {told}"))
    arena.dropped("idle_latency", dict(rounds.dropped))
    yield from _contests(arena, late, {name: setting.label for name, (_, setting) in settings.items()})


def names(_sizes: Sizes) -> list[str]:
    """What it can hold."""
    peers = [kind.name for kind in DURABLE if kind.idle]
    return [name for percentile in (P50, P99) for name in (percentile, *(f"{percentile}_vs_{peer}" for peer in peers))]


STAGE = Stage("idle_latency", names, hold)


def sample(arena: Arena, contender: Contender, setting: Setting) -> list[float]:
    """Let the workers come up and grow idle, then enqueue; milliseconds of each."""
    contender.restore("noop", WARM)
    course = Course(arena.folder / "course")
    course.fire()
    with running(contender, setting, course, arena.folder / f"{contender.name}.log"):
        wait_until(lambda: course.ticks() >= WARM, within=90, describe=f"{contender.name} to come up")
        wait_until(contender.settled, within=30, describe=f"{contender.name} to settle")
        time.sleep(1.0)
        samples = arena.sizes.samples
        contender.latency(course, samples)
        wait_until(lambda: len(course.arrivals_ms()) >= samples, within=60, describe=f"{samples} arrivals")
        return course.arrivals_ms()


def _contests(arena: Arena, late: Late, labels: dict[str, str]) -> Iterator[Contest]:
    ours = {P50: late.p50.get("postroom"), P99: late.p99.get("postroom")}
    for name, figures in ((P50, late.p50), (P99, late.p99)):
        mine = ours[name]
        for peer, theirs in figures.items() if mine else ():
            if peer == "postroom" and len(figures) > 1:
                continue
            plain = peer in {PLAIN_CELERY.name, "postroom"}
            yield Contest(
                name if plain else f"{name}_vs_{peer}",
                tuple(mine or ()),
                () if peer == "postroom" else tuple(theirs),
                unit="ms",
                better="lower",
                targets=TARGETS[name] if plain else (),
                facts={
                    "samples": arena.sizes.samples,
                    "ours_setting": labels["postroom"],
                    "peer_setting": f"{peer} ({labels[peer]})",
                },
            )
