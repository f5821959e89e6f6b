"""A small fleet of real workers on one ledger and one broker, as the tests of whole processes use it."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import psycopg
from pydantic import SecretStr

from domain.jobs.job import FINAL, NewJob
from domain.payloads.payload import Payload
from engine.app import publish_catalogue
from engine.enqueue import enqueue_jobs
from engine.runtime import Runtime, install
from settings import Settings
from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org
from tests.doubles.probes.outside import FOLDER, Outside
from tests.invariants import check_ledger
from tests.waiting import eventually

QUICK = {
    "POSTROOM_LEASE_S": "3",
    "POSTROOM_PROVIDER_CALL_LIMIT_S": "0.5",
    "POSTROOM_HINT_TIMEOUT_S": "3",
}
"""Settings of a fleet that notices losses within seconds."""

QUIET_OPTIONS = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--include", probe_jobs.__name__)
"""Celery's messages between workers cost a second at each start, and nothing of ours needs them."""

END_WITHIN_S = 30.0
"""How long jobs may take on a busy machine of two cores, in seconds."""


def refused_settlements(logs: str) -> int:
    """How many refused settlements a worker's log reports."""
    return sum(map(int, re.findall(r'"jobs": (\d+)[^\n]*"event": "settlements_refused"', logs)))


def environment_of(settings: Settings) -> dict[str, str]:
    """The environment of a process that uses the servers and emulators of these settings."""
    return {
        "POSTROOM_DATABASE_URL": settings.database_url.get_secret_value(),
        "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value(),
        "POSTROOM_GOOGLE_URL": str(settings.google_url),
        "POSTROOM_ANTHROPIC_BASE_URL": str(settings.anthropic_base_url),
        "POSTROOM_ANTHROPIC_API_KEY": "key",
    }


class Fleet:
    """The workers of one test, a client that enqueues, queries to the ledger, and the external system."""

    def __init__(self, database_url: str, broker_url: str, folder: Path, stack: ExitStack) -> None:
        self.database_url = database_url
        self.broker_url = broker_url
        self.outside = Outside(folder)
        self._stack = stack
        self._owner: psycopg.Connection[Any] | None = None
        self.client = Runtime(
            Settings(
                database_url=SecretStr(database_url),
                broker_url=SecretStr(broker_url),
                hint_timeout_s=float(QUICK["POSTROOM_HINT_TIMEOUT_S"]),
            )
        )
        install(self.client)
        stack.callback(self.client.close)
        stack.callback(install, None)
        publish_catalogue()
        with psycopg.connect(database_url, autocommit=True) as owner:
            self.org = make_org(owner)

    def worker(
        self,
        name: str = "one",
        *,
        pool: str = "threads",
        concurrency: int = 2,
        queues: tuple[str, ...] = ("default", "deadletter"),
        options: tuple[str, ...] = QUIET_OPTIONS,
        settings: Mapping[str, str] | None = None,
        **given: str,
    ) -> WorkerNode:
        """Start a worker; further settings as a mapping or by keyword. Call `ready()` before you rely on it."""
        command = WorkerCommand(queues, pool, concurrency, name=name, options=options)
        node = run_worker(command, self.environment | dict(settings or {}) | given, self.outside.folder)
        self._stack.callback(node.teardown)
        return node

    @property
    def environment(self) -> dict[str, str]:
        """The environment of each process of the fleet."""
        servers = {"POSTROOM_DATABASE_URL": self.database_url, "POSTROOM_BROKER_URL": self.broker_url}
        return QUICK | servers | {FOLDER: str(self.outside.folder)}

    def enqueue(self, payload: Payload) -> UUID:
        """Enqueue one job in Python."""
        return self.enqueue_many([payload.job(org_id=self.org)])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[UUID]:
        """Enqueue many jobs in Python."""
        with self.client.database.ledger() as tx:
            return [answer.job_id for answer in enqueue_jobs(tx, jobs)]

    def ask(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Query the ledger as its owner; connects again when the server was restarted.

        The connection is kept, because tests poll fifty times a second.
        """
        if self._owner is None or self._lost(self._owner):
            self._owner = self._stack.enter_context(psycopg.connect(self.database_url, autocommit=True))
        cursor = self._owner.execute(cast("Any", query), parameters)
        return cursor.fetchall() if cursor.description else []

    @staticmethod
    def _lost(owner: psycopg.Connection[Any]) -> bool:
        with suppress(psycopg.OperationalError):
            owner.execute("")
        return owner.closed

    def states(self, job_ids: Collection[UUID]) -> Counter[str]:
        """How many of these jobs are in which state."""
        return Counter(row[0] for row in self.ask("select state from jobs where id = any (%s)", list(job_ids)))

    def wait_for_end(self, job_ids: Collection[UUID], *, within: float = END_WITHIN_S) -> Counter[str]:
        """Wait until all these jobs are in the ledger and final; returns how many ended how."""
        eventually(
            lambda: sum(self.states(job_ids)[state] for state in FINAL) == len(job_ids),
            within=within,
            describe=f"the end of {len(job_ids)} jobs",
        )
        return self.states(job_ids)

    def wait_for_starts(self, job_ids: Collection[UUID]) -> None:
        """Wait until the ledger says that these jobs run, which a worker writes each second."""
        started = {"running": len(job_ids)}
        eventually(lambda: self.states(job_ids) == started, within=END_WITHIN_S, describe=f"the starts: {started}")

    def wait_for_line(self, *words: object, times: int = 1) -> None:
        """Wait until the external system's journal has `times` such lines."""
        line = " ".join(map(str, words))
        eventually(lambda: len(self.outside.lines(line)) >= times, within=END_WITHIN_S, describe=f"{line!r} x {times}")

    def events(self, job_id: UUID) -> list[str]:
        """The events of a job's audit log, without their common prefix."""
        rows = self.ask("select event from audit_log where job_id = %s and event like 'job.%%' order by id", job_id)
        return [row[0].removeprefix("job.") for row in rows]

    def causes(self, job_id: UUID) -> list[str]:
        """The cause of each retry of a job."""
        query = "select data ->> 'cause' from audit_log where job_id = %s and event = 'job.retried' order by id"
        return [row[0] for row in self.ask(query, job_id)]

    def check(self, *, open_jobs: int = 0) -> None:
        """Fail unless the ledger is consistent; waits for open jobs first, such as the alert for a dead job."""
        eventually(
            lambda: self.ask("select count(*) from jobs where finished_at is null")[0][0] <= open_jobs,
            within=END_WITHIN_S,
            describe=f"all but {open_jobs} jobs to end",
        )
        with psycopg.connect(self.database_url) as owner:
            check_ledger(owner, open_jobs=open_jobs)


def wait_until_ready(*nodes: WorkerNode) -> None:
    """Wait for workers that were started in parallel."""
    for node in nodes:
        node.ready()
