"""The runs that are measured: drain a backlog, and enqueue one by one and in bulk."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery
from redis import Redis

from bench.plain_app import COUNTER
from domain.job import NewJob
from sandbox.child_process import ChildProcess, Command
from sandbox.servers import Servers
from sandbox.waiting import wait_until
from settings import Settings
from storage import ledger
from storage.database import Database
from tasks.runtime import Runtime

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 600.0
BULK = 1000


class Ours:
    """Postroom with everything on: audit, guards, fencing, row-level security, redaction."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        """Use a migrated database of the benchmark's own."""
        self._settings = settings
        self._folder = folder
        self._database = Database(settings)
        self._runtime = Runtime(settings)
        self._org = self._make_org()

    def drain(self, jobs: int) -> float:
        """Jobs per second of a prefork worker of two, from a full backlog to the last success."""
        before = self._succeeded()
        self.enqueue_many(jobs)
        environment = {
            "POSTROOM_DATABASE_URL": self._settings.database_url.get_secret_value(),
            "POSTROOM_BROKER_URL": self._settings.broker_url.get_secret_value(),
            "POSTROOM_LOG_LEVEL": "WARNING",
        }
        words = ["-A", "tasks", "worker", "-Q", "default", "-P", "prefork", "-c", "2", "-I", "bench.noop_jobs"]
        with worker([*words, "--without-gossip", "--without-mingle"], environment, self._folder / "ours.log"):
            return rate(jobs, lambda: self._succeeded() - before)

    def enqueue_many(self, jobs: int) -> float:
        """Jobs per second through the Python door for many, published and all."""
        began = time.perf_counter()
        for _ in range(0, jobs, BULK):
            batch = [NewJob("noop_jobs.noop", self._org, {}) for _ in range(min(BULK, jobs))]
            with self._database.ledger() as tx:
                answers = ledger.enqueue(tx, batch, publisher=True, patience=self._runtime.patience)
            self._runtime.publisher.publish([answer.hint for answer in answers if answer.publish])
        return jobs / (time.perf_counter() - began)

    def _succeeded(self) -> int:
        with self._database.ledger() as tx:
            return int(tx.raw("select count(*) from jobs where state = 'succeeded'")[0][0])

    def _make_org(self) -> UUID:
        with self._database.ledger() as tx:
            return UUID(str(tx.raw("insert into orgs (name) values ('bench') returning id")[0][0]))


class PlainCelery:
    """Celery as it comes, on the same broker."""

    def __init__(self, broker_url: str, folder: Path) -> None:
        """Use a numbered database of the broker of its own."""
        self._url = broker_url
        self._folder = folder
        self._app: Any = Celery("client", broker=broker_url)
        self._redis = Redis.from_url(broker_url)

    def drain(self, jobs: int) -> float:
        """Tasks per second of a prefork worker of two, from a full queue to the last count."""
        self._redis.flushdb()
        self.apply_async(jobs)
        words = ["-A", "bench.plain_app", "worker", "-P", "prefork", "-c", "2", "--without-gossip", "--without-mingle"]
        with worker(words, {"BENCH_BROKER_URL": self._url}, self._folder / "plain.log"):
            return rate(jobs, lambda: int(self._redis.get(COUNTER) or 0))

    def apply_async(self, jobs: int) -> float:
        """Tasks per second that one client can send."""
        began = time.perf_counter()
        for _ in range(jobs):
            self._app.send_task("plain.noop")
        return jobs / (time.perf_counter() - began)


def rate(jobs: int, done: Callable[[], int]) -> float:
    """Jobs per second between the first that is done and the last, so that a start-up does not count."""
    first = wait_until(done, within=PATIENCE_S, describe="the first job")
    began = time.perf_counter()
    wait_until(lambda: done() >= jobs, within=PATIENCE_S, describe="the last job")
    return (jobs - first) / (time.perf_counter() - began)


@contextmanager
def worker(words: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    """Run one Celery worker command for as long as it is needed."""
    command = Command([sys.executable, "-m", "celery", *words], dict(os.environ) | environment, ROOT)
    child = ChildProcess(command, log=log)
    child.start()
    try:
        yield
    finally:
        child.stop(within=30)


def settings_of(servers: Servers) -> Settings:
    """Settings for the benchmark's own servers."""
    return Settings.model_validate({"database_url": servers.postgres.url(), "broker_url": servers.valkey.url(0)})
