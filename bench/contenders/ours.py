"""Postroom as a contender, with every feature on: audit, guards, fencing, row-level security, redaction."""

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

from bench import measured_job
from bench.contenders.contender import Setting, processes
from bench.mail_jobs import MAIL_JOBS
from bench.noop_jobs import MEASURED
from bench.run_folder import RunFolder
from bench.stores import OURS, RUN_DATABASE, Stores, bulk_sql
from domain.jobs.job import JsonObject, NewJob
from engine import enqueue
from engine.relay.relay import Relay
from engine.runtime import Runtime, install
from settings import Settings
from storage.jobs import job_types
from storage.postgres.migrate import upgrade

TEMPLATE = "ours"
MAIL = "mail"
"""Names the mail mix among the jobs to drain."""
WRITING_MAIL = "writing_mail"
"""Names the mail mix whose jobs write rows."""

WORKER = ("-m", "celery", "-A", "tasks", "worker", "-Q", "default", "-I", "bench.noop_jobs,bench.mail_jobs")
QUIET = ("--without-gossip", "--without-mingle")

THREADS = Setting("2 processes of 4 threads", processes((*WORKER, *QUIET, "-P", "threads", "-c", "4"), 2), ready=2)
FEW_THREADS = Setting("3 processes of 2 threads", processes((*WORKER, *QUIET, "-P", "threads", "-c", "2"), 3), ready=3)
PREFORK = Setting("prefork 2", processes((*WORKER, *QUIET, "-P", "prefork", "-c", "2"), 1), ready=2)
IO_BOUND = Setting("1 process of 200 threads", processes((*WORKER, *QUIET, "-P", "threads", "-c", "200"), 1), ready=1)
ONE = Setting("1 process of 4 threads", processes((*WORKER, *QUIET, "-P", "threads", "-c", "4"), 1), ready=1)


class Ours:
    """Postroom's workers, and enqueueing in Python."""

    name = "postroom"

    def __init__(self, stores: Stores) -> None:
        """Prepare a migrated database; every run gets a copy."""
        self._stores = stores
        self._stores.make_database(TEMPLATE)
        upgrade(self.settings(TEMPLATE))
        for statements in ("message_rows", "fence_message_rows"):
            self._stores.execute(bulk_sql(statements), TEMPLATE)
        with self.runtime(TEMPLATE) as runtime, runtime.database.ledger() as tx:
            job_types.publish(tx, [measured.line() for measured in (*MEASURED, *MAIL_JOBS)])
            self.org = UUID(str(tx.raw("insert into orgs (name) values ('bench') returning id")[0][0]))

    def settings(self, database: str = RUN_DATABASE) -> Settings:
        """Settings for the benchmark's own servers."""
        urls = {"database_url": self._stores.database_url(database), "broker_url": self._stores.broker_url(OURS)}
        return Settings.model_validate(urls)

    @contextmanager
    def runtime(self, database: str = RUN_DATABASE) -> Iterator[Runtime]:
        """A runtime on a database of the benchmark, installed for the length of the block."""
        runtime = Runtime(self.settings(database))
        install(runtime)  # where `enqueue` looks for it
        try:
            yield runtime
        finally:
            install(None)
            runtime.close()

    def restore(self, job: str, jobs: int) -> None:
        """Copy the database, empty the broker, and enqueue a backlog in Python."""
        self._stores.make_database(RUN_DATABASE, TEMPLATE)
        self.fill(job, jobs)
        self._stores.vacuum()

    def fill(self, job: str, jobs: int) -> float:
        """Enqueue and publish in bulk; returns seconds."""
        with self.empty():
            began = time.perf_counter()
            self.enqueue_many(job, jobs)
            return time.perf_counter() - began

    def fill_singly(self, job: str, jobs: int) -> float:
        """Enqueue and publish one by one; returns seconds."""
        with self.empty() as runtime:
            began = time.perf_counter()
            for _ in range(jobs):
                self.enqueue_one(runtime, job)
            return time.perf_counter() - began

    def enqueue_many(self, job: str, jobs: int) -> None:
        """Enqueue `jobs` jobs in bulk; of the mail mix, the messages, whose jobs enqueue the others."""
        is_mail, writes = job in {MAIL, WRITING_MAIL}, job == WRITING_MAIL
        enqueue.enqueue_many(self._message(n, writes=writes) if is_mail else self._new(job) for n in range(jobs))

    def enqueue_one(self, runtime: Runtime, job: str, payload: JsonObject | None = None) -> None:
        """Enqueue one job in a transaction of its own: one round trip."""
        with runtime.database.statements() as tx:
            enqueue.enqueue_jobs(tx, [self._new(job, payload)])

    def environment(self) -> Mapping[str, str]:
        """The settings that a worker needs, as environment variables."""
        settings = self.settings()
        return {
            "POSTROOM_DATABASE_URL": settings.database_url.get_secret_value(),
            "POSTROOM_BROKER_URL": settings.broker_url.get_secret_value(),
            "POSTROOM_LOG_LEVEL": "WARNING",  # as Celery's own default is
            "USE_FAST_LOCALS": "1",  # Celery's, as in deploy/Dockerfile
        }

    def interpreter(self) -> Path:
        """The Python interpreter of this process."""
        return Path(sys.executable)

    def settled(self) -> bool:
        """Whether every job has reached a final state."""
        return not self._stores.scalar("select count(*) from jobs where finished_at is null")

    def latency(self, _folder: RunFolder, samples: int) -> None:
        """Enqueue one by one in Python."""
        with self.runtime() as runtime:
            for gap in measured_job.gaps(samples):
                time.sleep(gap)
                self.enqueue_one(runtime, "note", {"sent_ns": time.monotonic_ns()})

    @contextmanager
    def empty(self) -> Iterator[Runtime]:
        """A runtime with an empty broker.

        The relay's turn records the broker's new epoch; without it the relay would publish every hint again.
        """
        self._stores.empty_broker(OURS)
        with self.runtime() as runtime:
            Relay(runtime).turn()
            yield runtime

    def _new(self, job: str, payload: JsonObject | None = None) -> NewJob:
        return NewJob(f"noop_jobs.{job}", self.org, payload or {})

    def _message(self, number: int, *, writes: bool) -> NewJob:
        payload = {"account_id": measured_job.account_of(number), "message": number}
        if writes:
            payload["writes"] = True
        return NewJob("mail_jobs.ingest", self.org, payload)
