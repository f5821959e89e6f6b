"""arq: no results kept, uvloop; concurrency and poll delay by its command line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

from bench import tick
from bench.peers import verbs


async def noop(_context: object) -> None:
    """Be counted."""
    tick.tick()


async def nap(_context: object) -> None:
    """Be counted after a nap."""
    await tick.nap_lightly(verbs.NAP_S)


async def note(_context: object, sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


class Sender:
    """Enqueues by `enqueue_job`."""

    def __init__(self, pool: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use a pool."""
        self._pool = pool

    async def fill(self, job: str, jobs: int) -> None:
        """A hundred at once, each on a connection of its own; arq has no call for many."""
        for start in range(0, jobs, 100):
            await asyncio.gather(*(self._pool.enqueue_job(job) for _ in range(min(100, jobs - start))))

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        await self._pool.enqueue_job(job, *arguments)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    pool = await create_pool(RedisSettings.from_dsn(verbs.BROKER_URL))
    try:
        yield Sender(pool)
    finally:
        await pool.aclose()


async def work(concurrency: str, poll_s: str) -> None:
    """Run so many jobs at once."""
    worker = Worker(
        [noop, nap, note],
        redis_settings=RedisSettings.from_dsn(verbs.BROKER_URL),
        max_jobs=int(concurrency),
        poll_delay=float(poll_s),
        keep_result=0,
        log_results=False,
        handle_signals=False,
    )
    await worker.async_run()


if __name__ == "__main__":
    verbs.main(verbs.Program(client, work=work, run=uvloop.run))
