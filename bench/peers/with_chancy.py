"""Chancy: the coroutine executor, eager polling, uvloop; concurrency from the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from chancy import Chancy, Job, Queue, Worker

from bench import measured_job
from bench.peers import program


async def noop() -> None:
    """Count one job."""
    measured_job.count()


async def io_bound() -> None:
    """Wait, then count one job."""
    await measured_job.wait_async(program.WAIT_S)


async def note(*, sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


class Sender:
    """Enqueues by `push_many`."""

    def __init__(self, chancy: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use an application."""
        self._chancy = chancy

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per transaction."""
        async for _ in self._chancy.push_many([_job(job)] * jobs, batch_size=program.BULK):
            pass

    async def send(self, job: str, *arguments: int) -> None:
        """One per transaction."""
        made = _job(job)
        await self._chancy.push(made.with_kwargs(sent_ns=arguments[0]) if arguments else made)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    async with Chancy(program.DATABASE_URL) as chancy:
        yield Sender(chancy)


async def install() -> None:
    """Make the tables."""
    async with Chancy(program.DATABASE_URL) as chancy:
        await chancy.migrate()


async def work(concurrency: str) -> None:
    """Run `concurrency` jobs at once."""
    queue = Queue(
        "default",
        concurrency=int(concurrency),
        executor="chancy.executors.asyncex.AsyncExecutor",
        eager_polling=True,
        polling_interval=1,
    )
    async with Chancy(program.DATABASE_URL) as chancy:
        await chancy.declare(queue, upsert=True)
        async with Worker(chancy) as worker:
            await worker.wait_for_shutdown()


def _job(name: str) -> Any:  # noqa: ANN401  # the peer's own type
    return Job(func=f"bench.peers.with_chancy.{name}")


if __name__ == "__main__":
    program.main(program.Program(client, install, work, run=uvloop.run))
