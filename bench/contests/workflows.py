"""Runs of workflows whose jobs do nothing: against as many plain jobs, and a chain against the idle latency.

The clock is the database's, for runs and plain jobs alike: from the transaction that enqueues to the one that ends the
run or the last job. Plain jobs are enqueued in that time, too, because a run enqueues the jobs of its nodes.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import psycopg

from bench.contenders.contender import Setting, running
from bench.contenders.ours import FEW_THREADS, ONE
from bench.contest import Contest, Target, take_turns
from bench.contests import latency
from bench.run_folder import RunFolder
from bench.setup import ContestGroup, Setup, Sizes
from domain.jobs.job import JsonObject
from domain.payloads.workflows import RunPayload
from domain.workflows.definition import hash_of
from engine import enqueue
from sandbox.servers.waiting import wait_until
from storage.workflows import definitions

FAN_OUT, LAYERS, CHAIN = "workflow_fan_out", "workflow_layers", "workflow_chain_ms_per_node"
TARGET = Target("ratio", "at least", 0.5)
"""At most twice the time. None keeps it yet: docs/explanation/how-we-measure.md says what stands in the way."""
WIDTH, NEEDS = 50, 3
"""Nodes of a layer, and how many nodes of the layer before it each needs."""
WITHIN_S = 300.0

TOOK = """
with measured as (select * from jobs order by id offset %(warm)s)
select
  extract(epoch from coalesce((select max(finished_at) from workflow_runs), max(finished_at)) - min(created_at))::float,
  count(*) filter (where job_type like 'noop_jobs.%%' and state = 'succeeded')::int,
  count(*) filter (where job_type = 'workflows.advance')::int,
  (select count(*) from workflow_runs where state <> 'succeeded')::int
from measured
"""
"""Seconds, jobs that have succeeded, advances, and runs that have not succeeded. The ids of jobs follow the time."""

ENDED = "select 1 where not exists (select from jobs where finished_at is null)"
"""By one connection that stays: to connect for each look takes the workers as much time as a job."""


@dataclass(frozen=True)
class Shape:
    """A workflow to run: its document, the input of its run, and how many jobs its nodes have."""

    document: JsonObject
    jobs: int
    input: JsonObject


def fan_out(items: int) -> Shape:
    """A job for each item of a list, and one after all of them."""
    each = {"job": "noop_jobs.numbered", "for_each": "${input.items}", "with": {"number": "${index}"}}
    nodes = {"each": each, "join": {"job": "noop_jobs.noop", "needs": ["each"]}}
    given = {"type": "object", "required": ["items"], "properties": {"items": {"type": "array"}}}
    document = {"name": "fan-out", "input": given, "nodes": nodes}
    return Shape(document, items + 1, {"items": [0] * items})


def layers(count: int) -> Shape:
    """Layers of nodes; from the second on each node needs some of the layer before."""

    def needs(layer: int, index: int) -> list[str]:
        return [f"n{layer - 1}_{(index + step) % WIDTH}" for step in range(NEEDS)] if layer else []

    nodes = {
        f"n{layer}_{index}": {"job": "noop_jobs.noop", "needs": needs(layer, index)}
        for layer in range(count)
        for index in range(WIDTH)
    }
    return Shape({"name": "layers", "nodes": nodes}, len(nodes), {})


def chain(length: int) -> Shape:
    """Nodes one after another."""
    nodes = {f"n{n}": {"job": "noop_jobs.noop", "needs": [f"n{n - 1}"] if n else []} for n in range(length)}
    return Shape({"name": "chain", "nodes": nodes}, length, {})


def run_contests(setup: Setup) -> Iterable[Contest]:
    """Each shape against its peer, in turns."""
    sizes = setup.sizes
    for name, shape in ((FAN_OUT, fan_out(sizes.workflow_items)), (LAYERS, layers(sizes.workflow_layers))):
        if setup.wants(name):
            yield from _against_plain_jobs(setup, name, shape)
    if setup.wants(CHAIN):
        yield from _against_idle_latency(setup, chain(sizes.workflow_chain))


def names(_sizes: Sizes) -> list[str]:
    """Every contest of this group."""
    return [FAN_OUT, LAYERS, CHAIN]


GROUP = ContestGroup("workflows", names, run_contests)


@dataclass
class Runs:
    """How long runs took, and how many advances each had."""

    setup: Setup
    shape: Shape
    setting: Setting
    advances: list[int]

    def seconds(self) -> float:
        """Run the workflow once on fresh stores."""
        return self._measure(self._start)

    def plain_seconds(self) -> float:
        """Enqueue and run as many plain jobs as the nodes have."""
        return self._measure(lambda: self.setup.ours.enqueue_many("noop", self.shape.jobs))

    def ms_per_node(self) -> float:
        """The milliseconds of a run for each of its jobs."""
        return 1000 * self.seconds() / self.shape.jobs

    def _start(self) -> None:
        ours, name = self.setup.ours, self.shape.document["name"]
        enqueue.enqueue_many([RunPayload(workflow=name, input=self.shape.input).job(org_id=ours.org)])

    def _measure(self, start: Callable[[], object]) -> float:
        setup = self.setup
        with (
            _idle_workers(setup, self.shape, self.setting),
            setup.ours.runtime(),
            psycopg.connect(setup.stores.database_url(), autocommit=True) as owner,
        ):
            start()
            wait_until(lambda: owner.execute(ENDED).fetchone(), within=WITHIN_S, describe="the jobs to end")
            seconds, jobs, advances, failed = owner.execute(TOOK, {"warm": latency.WARM}).fetchone() or (0, 0, 0, 0)
        if jobs != self.shape.jobs or failed:
            raise RuntimeError(f"{jobs} of {self.shape.jobs} jobs have succeeded, {failed} runs have not")
        if advances:
            self.advances.append(advances)
        return float(seconds)


@contextmanager
def _idle_workers(setup: Setup, shape: Shape, setting: Setting) -> Iterator[None]:
    """Workers with open connections and nothing to do, on a database that has the workflow."""
    ours = setup.ours
    ours.restore("noop", latency.WARM)
    with ours.runtime() as runtime, runtime.database.ledger() as tx:
        definitions.save(tx, ours.org, shape.document, hash_of(shape.document), by="bench")
    run_folder = RunFolder(setup.folder / "run")
    run_folder.release_start_barrier()
    with running(ours, setting, run_folder, setup.folder / f"{ours.name}.log"):
        wait_until(lambda: run_folder.jobs_done() >= latency.WARM, within=90, describe="the workers to come up")
        wait_until(ours.settled, within=30, describe="the workers to settle")
        time.sleep(1.0)
        yield


def _against_plain_jobs(setup: Setup, name: str, shape: Shape) -> Iterator[Contest]:
    runs = Runs(setup, shape, FEW_THREADS, [])
    runners = {"workflow": runs.seconds, "plain jobs": runs.plain_seconds}
    rounds = take_turns(runners, setup.sizes.rounds, lambda line: setup.print_line(f"{name} in s, {line}"))
    setup.note_dropped(name, dict(rounds.dropped))
    ours, plain = (rounds.figures.get(runner) for runner in runners)
    if ours and plain:
        facts = _facts(runs, "as many plain jobs, enqueued and run")
        yield Contest(name, ours, plain, unit="s", better="lower", targets=(TARGET,), facts=facts)


def _against_idle_latency(setup: Setup, shape: Shape) -> Iterator[Contest]:
    runs = Runs(setup, shape, ONE, [])
    runners: dict[str, Callable[[], float]] = {
        "workflow": runs.ms_per_node,
        "idle latency": lambda: latency.percentiles(latency.sample(setup, setup.ours, ONE))[0],
    }
    rounds = take_turns(runners, setup.sizes.rounds, lambda line: setup.print_line(f"{CHAIN}, {line}"))
    setup.note_dropped(CHAIN, dict(rounds.dropped))
    ours, idle = (rounds.figures.get(runner) for runner in runners)
    if ours and idle:
        facts = _facts(runs, "the idle latency of a plain job, p50")
        yield Contest(CHAIN, ours, idle, unit="ms", better="lower", targets=(TARGET,), facts=facts)


def _facts(runs: Runs, peer: str) -> dict[str, object]:
    return {
        "jobs": runs.shape.jobs,
        "advances": median(runs.advances),
        "ours_setting": runs.setting.label,
        "peer_setting": peer,
    }
