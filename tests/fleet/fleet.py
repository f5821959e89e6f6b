"""A small fleet of real workers on one ledger and one broker, as the tests of whole processes use it."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
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
from engine.process.runtime import Runtime, install
from settings import Settings
from tests.cluster.nodes import WorkerCommand, WorkerNode, run_worker
from tests.doubles.factories import make_org
from tests.doubles.probe_outside import FOLDER, Outside
from tests.invariants import check_ledger
from tests.waiting import eventually

QUICK = {
    "POSTROOM_LEASE_S": "3",
    "POSTROOM_HEARTBEAT_S": "0.5",
    "POSTROOM_HINT_PATIENCE_S": "3",
    "POSTROOM_RELAY_INTERVAL_S": "0.2",
}
"""Settings of a fleet that notices everything within seconds."""

SPARTAN = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--include", "tests.doubles.probe_jobs")
"""Celery's own chatter between workers costs a second at each start, and nothing of ours relies on it."""

PATIENT_S = 30.0
"""How long jobs may take on a busy machine of two cores, in seconds."""


def refused_settlements(logs: str) -> int:
    """How many settlements a worker tells of that matched no claim any more, one by one or in a batch."""
    together = re.findall(r'"jobs": (\d+)[^\n]*"event": "settlements_refused"', logs)
    return logs.count('"settlement_refused"') + sum(map(int, together))


class Fleet:
    """The workers of one test, and the client's side: its enqueues, its questions to the ledger, the outside world."""

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
                hint_patience_s=float(QUICK["POSTROOM_HINT_PATIENCE_S"]),
            )
        )
        install(self.client)
        stack.callback(self.client.database.dispose)
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
        options: tuple[str, ...] = SPARTAN,
        **given: str,
    ) -> WorkerNode:
        """Start a worker; further settings by keyword. Call `ready()` on it before you rely on it."""
        command = WorkerCommand(queues, pool, concurrency, name=name, options=options)
        node = run_worker(command, self.environment | given, self.outside.folder)
        self._stack.callback(node.teardown)
        return node

    @property
    def environment(self) -> dict[str, str]:
        """What each process of the fleet finds in its environment."""
        servers = {"POSTROOM_DATABASE_URL": self.database_url, "POSTROOM_BROKER_URL": self.broker_url}
        return QUICK | servers | {FOLDER: str(self.outside.folder)}

    def enqueue(self, payload: Payload) -> UUID:
        """Hand over one job by the Python door."""
        return self.enqueue_many([payload.job(org_id=self.org)])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[UUID]:
        """Hand over many jobs by the Python door."""
        with self.client.database.ledger() as tx:
            return [answer.job_id for answer in enqueue_jobs(tx, jobs)]

    def ask(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Ask the ledger as its owner, who is connected anew when the server was restarted since.

        The connection is kept: tests ask fifty times a second, and a new one would cost as much as what they watch.
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

    def wait_for_end(self, job_ids: Collection[UUID], *, within: float = PATIENT_S) -> Counter[str]:
        """Wait until all these jobs are in the ledger and final; returns how many ended how."""
        eventually(
            lambda: sum(self.states(job_ids)[state] for state in FINAL) == len(job_ids),
            within=within,
            describe=f"the end of {len(job_ids)} jobs",
        )
        return self.states(job_ids)

    def wait_for_line(self, *words: object, times: int = 1) -> None:
        """Wait until the outside world has as many such lines."""
        line = " ".join(map(str, words))
        eventually(lambda: len(self.outside.lines(line)) >= times, within=PATIENT_S, describe=f"{line!r} x {times}")

    def events(self, job_id: UUID) -> list[str]:
        """The audit trail of a job, without the common prefix."""
        rows = self.ask("select event from audit_log where job_id = %s and event like 'job.%%' order by id", job_id)
        return [row[0].removeprefix("job.") for row in rows]

    def causes(self, job_id: UUID) -> list[str]:
        """Why a job went back to its queue, each time."""
        query = "select data ->> 'cause' from audit_log where job_id = %s and event = 'job.retried' order by id"
        return [row[0] for row in self.ask(query, job_id)]

    def check(self, *, open_jobs: int = 0) -> None:
        """Fail unless the ledger is sound; a job that died has queued its alert, which may still be under way."""
        eventually(
            lambda: self.ask("select count(*) from jobs where finished_at is null")[0][0] <= open_jobs,
            within=PATIENT_S,
            describe=f"all but {open_jobs} jobs to end",
        )
        with psycopg.connect(self.database_url) as owner:
            check_ledger(owner, open_jobs=open_jobs)


def wait_until_ready(*nodes: WorkerNode) -> None:
    """Wait for workers that were started side by side."""
    for node in nodes:
        node.ready()
