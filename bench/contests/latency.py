"""Idle latency: from the call that enqueues to the handler's first line, one job at a time with random gaps."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bench.contenders.contender import Contender, Setting, running
from bench.contenders.ours import ONE
from bench.contenders.peer_settings import DURABLE, PLAIN_CELERY
from bench.contest import Contest, Target, take_turns
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from sandbox.servers.waiting import wait_until

P50, P99 = "idle_latency_p50_ms", "idle_latency_p99_ms"
TARGETS = {P50: (Target("ratio", "at least", 0.5),), P99: (Target("ratio", "at least", 0.334),)}
"""A job starts at most 2.0 times as late as with plain Celery at the median, and three times as late at the p99."""
WARM = 50
"""Jobs that are drained first, so that every connection and pool is open."""


@dataclass
class Latencies:
    """The percentiles of each round, by contender."""

    p50: dict[str, list[float]] = field(default_factory=dict)
    p99: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, latencies_ms: list[float]) -> float:
        """Add the samples of a round; returns their median."""
        p50, p99 = percentiles(latencies_ms)
        self.p50.setdefault(name, []).append(p50)
        self.p99.setdefault(name, []).append(p99)
        return p50


def percentiles(samples: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    cuts = statistics.quantiles(samples, n=100, method="inclusive")
    return cuts[49], cuts[98]


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Ours against plain Celery and against the durable peers that have a setting for idle workers."""
    settings: dict[str, tuple[Contender, Setting]] = {"postroom": (setup.ours, ONE)}
    for peer in setup.peers((PLAIN_CELERY, *DURABLE)):
        if peer.kind.idle:
            settings[peer.name] = (peer, peer.kind.idle)
    latencies = Latencies()

    def runner(name: str) -> Callable[[], float]:
        return lambda: latencies.note(name, sample(setup, *settings[name]))

    runners = {name: runner(name) for name in settings}
    rounds = take_turns(runners, setup.sizes.rounds, lambda line: setup.print_line(f"idle latency in ms, {line}"))
    setup.note_dropped("idle_latency", dict(rounds.dropped))
    yield from _contests(setup, latencies, {name: setting.label for name, (_, setting) in settings.items()})


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    peers = [kind.name for kind in DURABLE if kind.idle]
    return [name for percentile in (P50, P99) for name in (percentile, *(f"{percentile}_vs_{peer}" for peer in peers))]


GROUP = ContestGroup("idle_latency", names, run_contests)


def sample(setup: Setup, contender: Contender, setting: Setting) -> list[float]:
    """Wait until the workers are up and idle, then enqueue; returns the latency of each job in milliseconds."""
    contender.restore("noop", WARM)
    run_folder = RunFolder(setup.folder / "run")
    run_folder.release_start_barrier()
    with running(contender, setting, run_folder, setup.folder / f"{contender.name}.log"):
        wait_until(lambda: run_folder.jobs_done() >= WARM, within=90, describe=f"{contender.name} to come up")
        wait_until(contender.settled, within=30, describe=f"{contender.name} to settle")
        time.sleep(1.0)
        samples = setup.sizes.samples
        contender.latency(run_folder, samples)
        wait_until(lambda: len(run_folder.latencies_ms()) >= samples, within=60, describe=f"{samples} arrivals")
        return run_folder.latencies_ms()


def _contests(setup: Setup, latencies: Latencies, labels: dict[str, str]) -> Iterator[Contest]:
    ours = {P50: latencies.p50.get("postroom"), P99: latencies.p99.get("postroom")}
    for name, figures in ((P50, latencies.p50), (P99, latencies.p99)):
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
                    "samples": setup.sizes.samples,
                    "ours_setting": labels["postroom"],
                    "peer_setting": f"{peer} ({labels[peer]})",
                },
            )
