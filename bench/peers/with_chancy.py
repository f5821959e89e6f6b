"""Chancy: the coroutine executor, eager polling, uvloop; concurrency by its command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from chancy import Chancy, Job, Queue, Worker

from bench import tick
from bench.peers import verbs


async def noop() -> None:
    """Be counted."""
    tick.tick()


async def nap() -> None:
    """Be counted after a nap."""
    await tick.nap_lightly(verbs.NAP_S)


async def note(*, sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


class Sender:
    """Enqueues by `push_many`."""

    def __init__(self, chancy: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use an application."""
        self._chancy = chancy

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per transaction."""
        async for _ in self._chancy.push_many([_job(job)] * jobs, batch_size=verbs.BULK):
            pass

    async def send(self, job: str, *arguments: int) -> None:
        """One per transaction."""
        made = _job(job)
        await self._chancy.push(made.with_kwargs(sent_ns=arguments[0]) if arguments else made)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    async with Chancy(verbs.DATABASE_URL) as chancy:
        yield Sender(chancy)


async def install() -> None:
    """Make the tables."""
    async with Chancy(verbs.DATABASE_URL) as chancy:
        await chancy.migrate()


async def work(concurrency: str) -> None:
    """Run so many jobs at once."""
    queue = Queue(
        "default",
        concurrency=int(concurrency),
        executor="chancy.executors.asyncex.AsyncExecutor",
        eager_polling=True,
        polling_interval=1,
    )
    async with Chancy(verbs.DATABASE_URL) as chancy:
        await chancy.declare(queue, upsert=True)
        async with Worker(chancy) as worker:
            await worker.wait_for_shutdown()


def _job(name: str) -> Any:  # noqa: ANN401  # the peer's own type
    return Job(func=f"bench.peers.with_chancy.{name}")


if __name__ == "__main__":
    verbs.main(verbs.Program(client, install, work, run=uvloop.run))
