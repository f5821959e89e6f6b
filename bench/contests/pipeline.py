"""The mail pipeline: real messages through ingest, classify and draft, on our fleet, plain Celery and durable peers.

All use the rules of `domain/` and the same emulators, whose processes count for nobody. Messages per second are the
contest's figure; what a message costs is among its facts.
"""

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from bench.contenders.contender import Setting, running
from bench.contenders.ours import THREADS
from bench.contenders.peer import Kind
from bench.contenders.peer_settings import DURABLE_PIPELINES, PIPELINE_CELERY
from bench.contest import Contest, Target, best, take_turns
from bench.pipeline.contenders import OurPipeline, PeerPipeline, PipelineContender, Work, check_same_work
from bench.pipeline.mailboxes import Mailboxes, running_mailboxes
from bench.pipeline.usage import Cost, Memory, committed, used_until_now
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from bench.stores import RUN_DATABASE
from sandbox.servers.child_process import ChildProcess

NAME = "pipeline_vs_plain_celery"
PEERS: dict[str, tuple[Kind, ...]] = {
    NAME: (PIPELINE_CELERY,),
    "pipeline_vs_best_durable": DURABLE_PIPELINES,
    **{f"pipeline_vs_{kind.name.removesuffix('_pipeline')}": (kind,) for kind in DURABLE_PIPELINES},
}
"""Each contest, and the peers of which the best is compared with ours."""
TARGETS = (Target("ratio", "at least", 0.65), Target("cpu_ratio", "at most", 1.8))
OURS = (THREADS,)
"""Faster here than 3 processes of 2 threads and than two prefork children: those share fewer connections and plans."""
WARM = 200
"""Messages before the clock starts, so that each process has its connections and PostgreSQL its plans."""
POLL_S, LOOK_AT_MEMORY_S = 0.2, 2.0
"""Both cost PostgreSQL and the machine something, of every contender alike."""
START_S, MESSAGE_S = 90.0, 1.0
"""How long a run may take: to start, and for each message."""


@dataclass(frozen=True)
class Done:
    """One run: its rate, what it cost, and what was done in it."""

    rate: float
    cost: Cost
    work: Work
    calls: Mapping[str, int]


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Run every setting of all in turns; each one's best is compared."""
    chosen = {name: kinds for name, kinds in PEERS.items() if setup.wants(name)}
    runs: dict[str, list[Done]] = {}
    with running_mailboxes(setup.folder) as mailboxes:
        entries = _entries(setup, mailboxes, chosen)

        def runner(name: str) -> Callable[[], float]:
            def run() -> float:
                done = run_once(setup, mailboxes, *entries[name])
                runs.setdefault(name, []).append(done)
                return done.rate

            return run

        runners = {name: runner(name) for name in entries}
        rounds = take_turns(
            runners, setup.sizes.rounds, lambda line: setup.print_line(f"messages/s of the pipeline, {line}")
        )
    setup.note_dropped("pipeline", dict(rounds.dropped))
    check_same_work({name: (done.work, done.calls) for name, each in runs.items() for done in each})

    def best_of(*sides: str) -> str | None:
        return best(rounds.figures, [name for name, (each, _) in entries.items() if each.name in sides])

    ours = best_of(setup.ours.name)
    for contest, kinds in chosen.items():
        peer = best_of(*(kind.name for kind in kinds))
        if ours and peer:
            facts = {"messages": setup.sizes.messages, "ours_setting": entries[ours][1].label, "peer_setting": peer}
            yield Contest(
                contest,
                rounds.figures[ours],
                rounds.figures[peer],
                unit="messages/s",
                targets=TARGETS if contest == NAME else (),
                facts=facts | costs(runs[ours], runs[peer]),
            )


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return list(PEERS)


GROUP = ContestGroup("pipeline", names, run_contests)


def costs(ours: Sequence[Done], peer: Sequence[Done]) -> dict[str, object]:
    """What a message costs both, and the ratio of CPU: medians of the rounds."""
    mine, theirs = (statistics.median(done.cost.cpu_ms for done in each) for each in (ours, peer))
    work = ours[0].work
    return {
        "cpu_ratio": round(mine / theirs, 3),
        "ours_cost": _median_cost(ours),
        "peer_cost": _median_cost(peer),
        "ours_kept_bytes": ours[-1].cost.kept_bytes(),
        "classified": work.classified,
        "drafted": work.drafted,
        "calls": dict(ours[0].calls),
    }


def run_once(setup: Setup, mailboxes: Mailboxes, contender: PipelineContender, setting: Setting) -> Done:
    """Warm the workers up, hand all messages over, and time it until nothing waits; `TimeoutError` when that fails."""
    messages = setup.sizes.messages
    warm = min(WARM, messages)
    boxes, arrived = mailboxes.refill(warm + messages)
    contender.connect(boxes)
    log = setup.folder / f"{contender.name}.log"
    with psycopg.connect(setup.stores.database_url(), autocommit=True) as owner:
        before = committed(owner, RUN_DATABASE)
        with running(contender, setting, RunFolder(setup.folder / "run"), log) as workers:
            watch = Watch(owner, contender, workers, log)
            contender.ready(arrived[:warm])()
            watch.wait(warm, within=START_S + MESSAGE_S * warm)
            hand_over = contender.ready(arrived[warm:])
            start, began = used_until_now(owner, workers, setup.stores.postmaster), time.perf_counter()
            hand_over()
            work = watch.wait(warm + messages, within=MESSAGE_S * messages + START_S)
            seconds = time.perf_counter() - began
            used = used_until_now(owner, workers, setup.stores.postmaster).since(start)
        # The looks at this run were some of them.
        commits = committed(owner, RUN_DATABASE) - before - watch.looks
    cost = Cost(used, messages, commits / (warm + messages), watch.memory)
    return Done(messages / seconds, cost, work, mailboxes.calls())


class Watch:
    """Looks at a run until it is over."""

    def __init__(
        self, owner: "psycopg.Connection[Any]", contender: PipelineContender, workers: list[ChildProcess], log: Path
    ) -> None:
        """`owner` is one connection for the whole run: a new one for each look would cost more than the look."""
        self._owner, self._query, self._workers, self._log = owner, contender.work_query, workers, log
        self._never = threading.Event()
        self.memory = Memory()
        self.looks = 0

    def wait(self, messages: int, within: float) -> Work:
        """Wait until this many messages are stored and nothing waits; `RuntimeError` when a worker ends meanwhile."""
        began = looked_at_memory = time.monotonic()
        while not (work := self._look()).is_over(messages):
            now = time.monotonic()
            if now - began > within:
                raise TimeoutError(f"after {within:g} s of {messages} messages: {work}; {self._log}")
            if now - looked_at_memory > LOOK_AT_MEMORY_S:
                self.memory.look(self._workers)
                looked_at_memory = now
            if dead := [worker for worker in self._workers if not worker.running]:
                raise RuntimeError(f"a worker ended with status {dead[0].exit_status}: {self._log}")
            self._never.wait(POLL_S)
        self.memory.look(self._workers)
        return work

    def _look(self) -> Work:
        self.looks += 1
        row = self._owner.execute(self._query.encode()).fetchone()
        if row is None:
            raise LookupError(f"no row: {self._query}")
        return Work(*row)


def _entries(
    setup: Setup, mailboxes: Mailboxes, chosen: Mapping[str, tuple[Kind, ...]]
) -> dict[str, tuple[PipelineContender, Setting]]:
    contenders: list[PipelineContender] = [OurPipeline(setup.ours, setup.stores, mailboxes, OURS)]
    contenders += (
        PeerPipeline(kind, python, setup.stores, mailboxes, setup.folder)
        for kind in {kind.name: kind for kinds in chosen.values() for kind in kinds}.values()
        if (python := setup.environments.pythons.get(kind.name))
    )
    return {f"{each.name} ({setting.label})": (each, setting) for each in contenders for setting in each.settings}


def _median_cost(runs: Sequence[Done]) -> dict[str, float]:
    each = [done.cost.as_facts() for done in runs]
    return {name: round(statistics.median(facts[name] for facts in each), 2) for name in each[0]}
