"""The load of a chaos run: mixed jobs of many orgs from three producers; a job counts once its enqueue has returned."""

import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
from celery import Celery
from kombu import Exchange
from kombu import Queue as BrokerQueue
from kombu.exceptions import OperationalError as BrokerAway
from psycopg.types.json import Jsonb

from domain.jobs.failures import Failure
from domain.jobs.job import NewJob, Origin
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime
from storage.jobs import ledger
from tests.chaos import chaos_jobs as kinds
from tests.chaos.plan import Plan

BATCH = 40
TURN_S = 0.2
"""How often each producer enqueues the jobs that are due."""
SEND_AGAIN_S = 8.0
"""A message on the broker is not durable: a foreign service sends it again until the ledger has its job."""
CANCELED_SHARE = 0.01
ADDRESS = BrokerQueue("default", Exchange(""), routing_key="default", no_declare=True)
"""Where a foreign service sends to. It declares no queue: that takes arguments which only the fleet knows."""
SHARES = {"python": 0.65, "sql": 0.25, "celery": 0.10}

Recipe = Callable[[random.Random, UUID], NewJob]

BULK = 30
"""Jobs that one org enqueues at once: more than its burst, so that some go through the backlog."""

RECIPES: tuple[tuple[int, int, Recipe], ...] = (
    (30, 1, lambda _, org: kinds.Noop().job(org_id=org)),
    (1, BULK, lambda _, org: kinds.Noop().job(org_id=org)),
    (8, 1, lambda rng, org: kinds.IoBound(ms=rng.randint(50, 500)).job(org_id=org)),
    (7, 1, lambda rng, org: kinds.Flaky(failures=rng.randint(1, 2)).job(org_id=org)),
    (8, 1, lambda rng, org: kinds.Turn(account_id=f"{rng.randint(1, 6)}", ms=10).job(org_id=org)),
    (6, 1, lambda rng, org: kinds.Single(account_id=f"{rng.randint(1, 50)}").job(org_id=org)),
    (5, 1, lambda _, org: kinds.Parent().job(org_id=org)),
    (14, 1, lambda rng, org: some_effect(kinds.Effect, rng, 10, 250).job(org_id=org)),
    (8, 1, lambda rng, org: some_effect(kinds.QuickEffect, rng, 0, 30).job(org_id=org)),
    (5, 1, lambda rng, org: kinds.Posting(ms=rng.randint(0, 20)).job(org_id=org)),
    (2, 1, lambda rng, org: kinds.Snoozer(until=soon(rng)).job(org_id=org)),
    (2, 1, lambda rng, org: kinds.Noop().job(org_id=org, run_at=soon(rng))),
    (1, 1, lambda rng, org: kinds.Doomed(failures=rng.randint(0, 4)).job(org_id=org)),
)
"""Weight of each recipe, how many such jobs come at once (of one org and priority), and the recipe."""


def some_effect(kind: type[kinds.Order], rng: random.Random, least_ms: int, most_ms: int) -> kinds.Order:
    """An effect with a key of its own, mostly long enough to be interrupted by a kill; some are refused at first."""
    return kind(key=f"effect:{uuid4()}", ms=rng.randint(least_ms, most_ms), refusals=rng.random() < 0.1)


def soon(rng: random.Random) -> datetime:
    """1 to 8 seconds from now."""
    return datetime.now(UTC) + timedelta(seconds=rng.uniform(1, 8))


@dataclass
class Accepted:
    """The accepted jobs by producer, and how many enqueues failed."""

    path: Path
    by_producer: dict[str, set[UUID]] = field(default_factory=lambda: {producer: set() for producer in SHARES})
    refused: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHARES, 0))
    folded: int = 0
    """Unique jobs whose key was taken; the job that holds the key counts as accepted."""

    def add(self, producer: str, job_ids: Sequence[UUID]) -> None:
        """Note accepted jobs, on disk too."""
        with self.path.open("a") as lines:
            lines.writelines(f"{producer} {job_id}\n" for job_id in job_ids)
        self.by_producer[producer].update(job_ids)

    @property
    def job_ids(self) -> set[UUID]:
        """All jobs that must be in the ledger."""
        return set().union(*self.by_producer.values())


class Producer(threading.Thread, ABC):
    """A thread that enqueues its share of the load in one way; a batch that fails is enqueued again."""

    name: str

    def __init__(self, name: str, plan: Plan, orgs: Sequence[UUID], accepted: Accepted) -> None:
        """Take this producer's share of the plan's jobs."""
        super().__init__(name=name, daemon=True)
        self.accepted = accepted
        self.finished = False
        self._rng = random.Random(f"{plan.seed} {name}")  # noqa: S311 - a repeatable load is the point
        self._orgs = orgs
        self._jobs = round(plan.jobs * SHARES[name])
        self._seconds = plan.seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Enqueue nothing more."""
        self._stopped.set()

    def run(self) -> None:
        """Enqueue jobs evenly over the time; jobs that are late are enqueued at once."""
        began, enqueued = time.monotonic(), 0
        while enqueued < self._jobs and not self._stopped.is_set():
            due = min(self._jobs, int(self._jobs * (time.monotonic() - began) / self._seconds) + 1)
            while enqueued < due and not self._stopped.is_set():
                batch = self._draw(min(BATCH, due - enqueued))
                self._enqueue_until_accepted(batch)
                enqueued += len(batch)
            self.between()
            self._stopped.wait(TURN_S)
        self.finish()
        self.finished = not self._stopped.is_set()

    @abstractmethod
    def enqueue_batch(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        """Enqueue a batch; returns the ids of the accepted jobs, or raises one of `failures`."""

    def between(self) -> None:
        """What a producer does between two batches."""

    def finish(self) -> None:
        """What a producer does after the last batch."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What an enqueue may raise while servers are away."""
        return (Failure, psycopg.OperationalError, psycopg.InterfaceError, BrokerAway, OSError)

    def _enqueue_until_accepted(self, jobs: Sequence[NewJob]) -> None:
        while not self._stopped.is_set():
            try:
                promised = self.enqueue_batch(jobs)
            except self.failures:
                self.accepted.refused[self.name] += 1
                self._stopped.wait(TURN_S)
            else:
                self.accepted.add(self.name, promised)
                return

    def _draw(self, least: int) -> list[NewJob]:
        jobs: list[NewJob] = []
        while len(jobs) < least:
            _, times, recipe = self._rng.choices(RECIPES, [weight for weight, _, _ in RECIPES])[0]
            org, priority = self._rng.choice(self._orgs), self._rng.choice([0, 0, 0, 10, -10])
            jobs += [recipe(self._rng, org)._replace(job_id=uuid4(), priority=priority) for _ in range(times)]
        return jobs


class PythonProducer(Producer):
    """Enqueues in Python in a transaction of the caller's, and sometimes asks for a cancel."""

    def __init__(self, runtime: Runtime, *place: Any) -> None:  # noqa: ANN401 - as `Producer`
        """Enqueue with this runtime."""
        super().__init__("python", *place)
        self._runtime = runtime
        self._recent: list[UUID] = []

    def enqueue_batch(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        with self._runtime.database.ledger() as tx:
            answers = enqueue_jobs(tx, jobs)
        self.accepted.folded += sum(not answer.created for answer in answers)
        self._recent = [answer.job_id for answer in answers]
        return self._recent

    def between(self) -> None:
        chosen = [job_id for job_id in self._recent if self._rng.random() < CANCELED_SHARE]
        self._recent = []
        if chosen:
            with suppress(Failure), self._runtime.database.ledger() as tx:
                ledger.cancel(tx, chosen, "no longer wanted", by=Origin(actor_id="chaos"))


class SqlProducer(Producer):
    """Enqueues by `select postroom.enqueue(…)`, as a client in any language does."""

    def __init__(self, url: str, *place: Any) -> None:  # noqa: ANN401 - as `Producer`
        """Log in as the owner of the database."""
        super().__init__("sql", *place)
        self._url = url

    def enqueue_batch(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        with psycopg.connect(self._url, connect_timeout=5) as connection:
            rows = [
                connection.execute(
                    "select postroom.enqueue(%s, %s, %s, run_at => %s, priority => %s, idempotency_key => %s)",
                    (job.job_type, job.org_id, Jsonb(job.payload), job.run_at, job.priority, str(job.job_id)),
                ).fetchone()
                for job in jobs
            ]
        return [row[0] for row in rows if row is not None]


class CeleryProducer(Producer):
    """Enqueues by `send_task` of a foreign Celery client, and sends again until the ledger has the job."""

    def __init__(self, broker_url: str, database_url: str, *place: Any) -> None:  # noqa: ANN401 - as `Producer`
        """Send to this broker, and read arrivals from this database."""
        super().__init__("celery", *place)
        self._app: Any = Celery("foreign", broker=broker_url, set_as_current=False)
        # Without them a client of RabbitMQ whose connection is lost without a word waits for good.
        names = ("read", "write") if broker_url.startswith("amqp") else ("socket", "socket_connect")
        self._app.conf.update(broker_transport_options={f"{name}_timeout": 5 for name in names})
        self._database_url = database_url
        self._sent: dict[UUID, tuple[float, NewJob]] = {}

    def enqueue_batch(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        for job in jobs:
            self._send(job)
        return []

    def between(self) -> None:
        if not self._sent:
            return
        with suppress(*self.failures):
            self.accepted.add(self.name, self._arrived())
            late = [job for at, job in self._sent.values() if time.monotonic() - at > SEND_AGAIN_S]
            for job in late:
                self._send(job)

    def finish(self) -> None:
        while self._sent and not self._stopped.is_set():
            self.between()
            self._stopped.wait(TURN_S)
        self._app.close()

    def _arrived(self) -> list[UUID]:
        with psycopg.connect(self._database_url, connect_timeout=5) as connection:
            keys = [str(job_id) for job_id in self._sent]
            rows = connection.execute(
                "select k.key, k.job_id from idempotency_keys k where k.kind = 'named' and k.key = any (%s)", (keys,)
            ).fetchall()
        for key, _ in rows:
            del self._sent[UUID(key)]
        return [job_id for _, job_id in rows]

    def _send(self, job: NewJob) -> None:
        assert job.job_id is not None
        # Noted before it is sent: when the answer is lost, the job is still asked for.
        self._sent[job.job_id] = (time.monotonic(), job)
        with suppress(BrokerAway):
            self._app.send_task(job.job_type, kwargs=contract(job), queue=ADDRESS, retry=False)


def contract(job: NewJob) -> dict[str, Any]:
    """A job's message as a foreign service writes it."""
    name = str(job.job_id)
    return {
        "job_id": name,
        "job_type": job.job_type,
        "org_id": str(job.org_id),
        "actor_type": "api_key",
        "actor_id": "chaos",
        "request_id": name,
        "correlation_id": name,
        "idempotency_key": name,
        "created_at": datetime.now(UTC).isoformat(),
        "payload": job.payload,
        "payload_version": 1,
        "scheduled_for": job.run_at and job.run_at.isoformat(),
        "priority": job.priority,
    }
