"""DBOS: coroutine workflows on one queue; concurrency and poll interval from the command line."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Any

from dbos import DBOS, DBOSClient

from bench import measured_job
from bench.peers import program

URL = program.DATABASE_URL.replace("postgresql://", "postgresql+psycopg://")
VERSION = "bench"


@DBOS.workflow(name="noop")
async def noop() -> None:
    """Count one job."""
    measured_job.count()


@DBOS.workflow(name="io_bound")
async def io_bound() -> None:
    """Wait, then count one job."""
    await measured_job.wait_async(program.WAIT_S)


@DBOS.workflow(name="note")
async def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


class Sender:
    """Enqueues by the client, many in one transaction."""

    def __init__(self, dbos: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use a client."""
        self._dbos = dbos

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per transaction; it has no statement for many."""
        for size in program.batches(jobs):
            self.enqueue(job, repeat((), size))

    def enqueue(self, job: str, arguments: Iterable[tuple[object, ...]]) -> None:
        """A job for each of these arguments, all in one transaction."""
        with self._dbos._sys_db.engine.begin() as connection:  # noqa: SLF001  # it lends no transaction of its own
            for some in arguments:
                self._dbos.enqueue_in_transaction(connection, _options(job), *some)

    async def send(self, job: str, *arguments: int) -> None:
        """One per transaction."""
        self._dbos.enqueue(_options(job), *arguments)


@asynccontextmanager
async def client(sender: Callable[[Any], Sender] = Sender) -> AsyncIterator[Sender]:
    """Connect."""
    dbos = DBOSClient(system_database_url=URL)
    try:
        yield sender(dbos)
    finally:
        dbos.destroy()


async def install() -> None:
    """Make the tables and the queue."""
    _launch("install")
    DBOS.destroy()


async def work(concurrency: str, poll_s: str) -> None:
    """Run so many workflows at once."""
    _launch(f"executor-{os.getpid()}")
    await DBOS.register_queue_async("bench", worker_concurrency=int(concurrency), polling_interval_sec=float(poll_s))
    await asyncio.Event().wait()


def _launch(executor: str) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": URL,
            "log_level": "ERROR",
            "console_log_level": "ERROR",
            "application_version": VERSION,
            "executor_id": executor,
            "sys_db_pool_size": 20,
        }
    )
    DBOS.launch()


def _options(job: str) -> Any:  # noqa: ANN401  # the peer's own type
    return {"workflow_name": job, "queue_name": "bench", "app_version": VERSION}


if __name__ == "__main__":
    program.main(program.Program(client, install, work))
