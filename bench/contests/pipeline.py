"""The mail pipeline: real messages through ingest, classify and draft, on our fleet and on plain Celery.

Both use the rules of `domain/` and the same emulators, whose processes count for nobody. Messages per second are the
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
from bench.contenders.peer_settings import PIPELINE_CELERY
from bench.contest import Contest, Target, best, take_turns
from bench.pipeline.contenders import OurPipeline, PipelineContender, PlainPipeline, Work, check_same_work
from bench.pipeline.mailboxes import Mailboxes, running_mailboxes
from bench.pipeline.usage import Cost, Memory, committed, used_until_now
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from bench.stores import RUN_DATABASE
from sandbox.servers.child_process import ChildProcess

NAME = "pipeline_vs_plain_celery"
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
    """Run every setting of both in turns; each one's best is compared."""
    runs: dict[str, list[Done]] = {}
    with running_mailboxes(setup.folder) as mailboxes:
        entries = _entries(setup, mailboxes)

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
    names = {side: [name for name, (each, _) in entries.items() if each.name == side] for side in _sides(entries)}
    ours, peer = (best(rounds.figures, names.get(side, [])) for side in (setup.ours.name, PIPELINE_CELERY.name))
    if ours and peer:
        facts = {"messages": setup.sizes.messages, "ours_setting": entries[ours][1].label, "peer_setting": peer}
        yield Contest(
            NAME,
            rounds.figures[ours],
            rounds.figures[peer],
            unit="messages/s",
            targets=TARGETS,
            facts=facts | costs(runs[ours], runs[peer]),
        )


def names(_sizes: Sizes) -> list[str]:
    """The one contest of this group."""
    return [NAME]


GROUP = ContestGroup("pipeline", names, run_contests)


def costs(ours: Sequence[Done], peer: Sequence[Done]) -> dict[str, object]:
    """What a message costs both, and the ratio of CPU: medians of the rounds."""
    mine, theirs = (statistics.median(done.cost.cpu_ms for done in each) for each in (ours, peer))
    work = ours[0].work
    return {
        "cpu_ratio": round(mine / theirs, 3),
        "ours_cost": _median_cost(ours),
        "peer_cost": _median_cost(peer),
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


def _entries(setup: Setup, mailboxes: Mailboxes) -> dict[str, tuple[PipelineContender, Setting]]:
    contenders: list[PipelineContender] = [OurPipeline(setup.ours, setup.stores, mailboxes, OURS)]
    if python := setup.environments.pythons.get(PIPELINE_CELERY.name):
        contenders.append(PlainPipeline(PIPELINE_CELERY, python, setup.stores, mailboxes, setup.folder))
    return {f"{each.name} ({setting.label})": (each, setting) for each in contenders for setting in each.settings}


def _sides(entries: Mapping[str, tuple[PipelineContender, Setting]]) -> set[str]:
    return {each.name for each, _ in entries.values()}


def _median_cost(runs: Sequence[Done]) -> dict[str, float]:
    each = [done.cost.as_facts() for done in runs]
    return {name: round(statistics.median(facts[name] for facts in each), 2) for name in each[0]}
