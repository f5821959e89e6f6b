"""The load of a chaos run: mixed jobs of many orgs through three doors, each accepted only when its door said so."""

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
from engine.process.runtime import Runtime
from storage.ledger import ledger
from tests.chaos import chaos_jobs as kinds
from tests.chaos.plan import Plan

BATCH = 40
TURN_S = 0.2
"""How often each door hands over what is due."""
SEND_AGAIN_S = 8.0
"""A message on the broker is nobody's promise: a foreign service sends again until the ledger has its job."""
CANCELED_SHARE = 0.01
ADDRESS = BrokerQueue("default", Exchange(""), routing_key="default", no_declare=True)
"""Where a foreign service sends to. The fleet declares its queues; who does not know their arguments must not."""
SHARES = {"python": 0.65, "sql": 0.25, "celery": 0.10}

Recipe = Callable[[random.Random, UUID], NewJob]

BULK = 30
"""Light jobs that one org hands over at once: more than its burst, so that the relay publishes some, in bundles."""

RECIPES: tuple[tuple[int, int, Recipe], ...] = (
    (20, 1, lambda _, org: kinds.Noop().job(org_id=org)),
    (10, 1, lambda _, org: kinds.LightNoop().job(org_id=org)),
    (1, BULK, lambda _, org: kinds.LightNoop().job(org_id=org)),
    (8, 1, lambda dice, org: kinds.Nap(ms=dice.randint(50, 500)).job(org_id=org)),
    (7, 1, lambda dice, org: kinds.Flaky(failures=dice.randint(1, 2)).job(org_id=org)),
    (8, 1, lambda dice, org: kinds.Turn(account_id=f"{dice.randint(1, 6)}", ms=10).job(org_id=org)),
    (6, 1, lambda dice, org: kinds.Single(account_id=f"{dice.randint(1, 50)}").job(org_id=org)),
    (5, 1, lambda _, org: kinds.Parent().job(org_id=org)),
    (14, 1, lambda dice, org: some_deed(kinds.Deed, dice, 10, 250).job(org_id=org)),
    (8, 1, lambda dice, org: some_deed(kinds.LightDeed, dice, 0, 30).job(org_id=org)),
    (5, 1, lambda dice, org: kinds.Posting(ms=dice.randint(0, 20)).job(org_id=org)),
    (2, 1, lambda dice, org: kinds.Snoozer(until=soon(dice)).job(org_id=org)),
    (2, 1, lambda dice, org: kinds.Noop().job(org_id=org, run_at=soon(dice))),
    (1, 1, lambda dice, org: kinds.Doomed(failures=dice.randint(0, 4)).job(org_id=org)),
)
"""The mixture, by weight; and how many such jobs come at once, all of one org and priority."""


def some_deed(kind: type[kinds.Order], dice: random.Random, least_ms: int, most_ms: int) -> kinds.Order:
    """A deed of its own, mostly long enough for its worker to die within; some are refused at first."""
    return kind(key=f"deed:{uuid4()}", ms=dice.randint(least_ms, most_ms), refusals=dice.random() < 0.1)


def soon(dice: random.Random) -> datetime:
    """Some seconds from now."""
    return datetime.now(UTC) + timedelta(seconds=dice.uniform(1, 8))


@dataclass
class Accepted:
    """What the doors have promised, and how often they were knocked at in vain."""

    path: Path
    by_door: dict[str, set[UUID]] = field(default_factory=lambda: {door: set() for door in SHARES})
    troubles: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHARES, 0))
    folded: int = 0
    """Unique jobs whose key was taken: their promise is the job that has it."""

    def add(self, door: str, job_ids: Sequence[UUID]) -> None:
        """Keep a promise, on disk too."""
        with self.path.open("a") as lines:
            lines.writelines(f"{door} {job_id}\n" for job_id in job_ids)
        self.by_door[door].update(job_ids)

    @property
    def job_ids(self) -> set[UUID]:
        """All jobs that must be in the ledger."""
        return set().union(*self.by_door.values())


class Door(threading.Thread, ABC):
    """One way in, kept busy at its own pace; what it could not hand over it hands over again."""

    name: str

    def __init__(self, name: str, plan: Plan, orgs: Sequence[UUID], accepted: Accepted) -> None:
        """Take this door's share of the plan's jobs."""
        super().__init__(name=name, daemon=True)
        self.accepted = accepted
        self.finished = False
        self._dice = random.Random(f"{plan.seed} {name}")  # noqa: S311 - a repeatable load is the point
        self._orgs = orgs
        self._jobs = round(plan.jobs * SHARES[name])
        self._seconds = plan.seconds
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Hand over no more."""
        self._stopped.set()

    def run(self) -> None:
        """Hand over jobs evenly over the time, and those that are late at once."""
        began, handed_over = time.monotonic(), 0
        while handed_over < self._jobs and not self._stopped.is_set():
            due = min(self._jobs, int(self._jobs * (time.monotonic() - began) / self._seconds) + 1)
            while handed_over < due and not self._stopped.is_set():
                batch = self._draw(min(BATCH, due - handed_over))
                self._insist(batch)
                handed_over += len(batch)
            self.between()
            self._stopped.wait(TURN_S)
        self.finish()
        self.finished = not self._stopped.is_set()

    @abstractmethod
    def hand_over(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        """Hand over a batch; returns what was promised. Raises what the door raises."""

    def between(self) -> None:
        """What a door has to do besides."""

    def finish(self) -> None:
        """What is left to do after the last batch."""

    @property
    def trouble(self) -> tuple[type[Exception], ...]:
        """What a door may raise when servers are away."""
        return (Failure, psycopg.OperationalError, psycopg.InterfaceError, BrokerAway, OSError)

    def _insist(self, jobs: Sequence[NewJob]) -> None:
        while not self._stopped.is_set():
            try:
                promised = self.hand_over(jobs)
            except self.trouble:
                self.accepted.troubles[self.name] += 1
                self._stopped.wait(TURN_S)
            else:
                self.accepted.add(self.name, promised)
                return

    def _draw(self, least: int) -> list[NewJob]:
        jobs: list[NewJob] = []
        while len(jobs) < least:
            _, times, recipe = self._dice.choices(RECIPES, [weight for weight, _, _ in RECIPES])[0]
            org, priority = self._dice.choice(self._orgs), self._dice.choice([0, 0, 0, 10, -10])
            jobs += [recipe(self._dice, org)._replace(job_id=uuid4(), priority=priority) for _ in range(times)]
        return jobs


class PythonDoor(Door):
    """`enqueue_many` in a transaction of the caller's, and now and then a request to cancel."""

    def __init__(self, runtime: Runtime, *place: Any) -> None:  # noqa: ANN401 - as `Door`
        """Enqueue as a process with this runtime."""
        super().__init__("python", *place)
        self._runtime = runtime
        self._recent: list[UUID] = []

    def hand_over(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        with self._runtime.database.ledger() as tx:
            answers = enqueue_jobs(tx, jobs)
        self.accepted.folded += sum(not answer.created for answer in answers)
        self._recent = [answer.job_id for answer in answers]
        return self._recent

    def between(self) -> None:
        chosen = [job_id for job_id in self._recent if self._dice.random() < CANCELED_SHARE]
        self._recent = []
        if chosen:
            with suppress(Failure), self._runtime.database.ledger() as tx:
                ledger.cancel(tx, chosen, "no longer wanted", by=Origin(actor_id="chaos"))


class SqlDoor(Door):
    """`select postroom.enqueue(…)`, in a transaction of any language's."""

    def __init__(self, url: str, *place: Any) -> None:  # noqa: ANN401 - as `Door`
        """Log in as the owner of the database."""
        super().__init__("sql", *place)
        self._url = url

    def hand_over(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        with psycopg.connect(self._url, connect_timeout=5) as connection:
            rows = [
                connection.execute(
                    "select postroom.enqueue(%s, %s, %s, run_at => %s, priority => %s, idempotency_key => %s)",
                    (job.job_type, job.org_id, Jsonb(job.payload), job.run_at, job.priority, str(job.job_id)),
                ).fetchone()
                for job in jobs
            ]
        return [row[0] for row in rows if row is not None]


class CeleryDoor(Door):
    """`send_task` of a foreign client, which asks the ledger whether its job has arrived and else sends again."""

    def __init__(self, broker_url: str, database_url: str, *place: Any) -> None:  # noqa: ANN401 - as `Door`
        """Send to this broker, ask this database."""
        super().__init__("celery", *place)
        self._app: Any = Celery("foreign", broker=broker_url, set_as_current=False)
        self._app.conf.update(broker_transport_options={"socket_timeout": 5, "socket_connect_timeout": 5})
        self._database_url = database_url
        self._sent: dict[UUID, tuple[float, NewJob]] = {}

    def hand_over(self, jobs: Sequence[NewJob]) -> Sequence[UUID]:
        for job in jobs:
            self._send(job)
        return []

    def between(self) -> None:
        if not self._sent:
            return
        with suppress(*self.trouble):
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
                "select k.key, k.job_id from idempotency_keys k where k.kind = 'job' and k.key = any (%s)", (keys,)
            ).fetchall()
        for key, _ in rows:
            del self._sent[UUID(key)]
        return [job_id for _, job_id in rows]

    def _send(self, job: NewJob) -> None:
        assert job.job_id is not None
        # Written down before it is sent: an answer that is lost must not leave a job that nobody asks for.
        self._sent[job.job_id] = (time.monotonic(), job)
        with suppress(BrokerAway):
            self._app.send_task(job.job_type, kwargs=contract(job), queue=ADDRESS, retry=False)


def contract(job: NewJob) -> dict[str, Any]:
    """A job as a foreign service writes it."""
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
