"""arq: no results kept, uvloop; concurrency and poll delay from the command line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

from bench import measured_job
from bench.peers import program


async def noop(_context: object) -> None:
    """Count one job."""
    measured_job.count()


async def io_bound(_context: object) -> None:
    """Wait, then count one job."""
    await measured_job.wait_async(program.WAIT_S)


async def note(_context: object, sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


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
    pool = await create_pool(RedisSettings.from_dsn(program.BROKER_URL))
    try:
        yield Sender(pool)
    finally:
        await pool.aclose()


async def work(concurrency: str, poll_s: str) -> None:
    """Run `concurrency` jobs at once."""
    worker = Worker(
        [noop, io_bound, note],
        redis_settings=RedisSettings.from_dsn(program.BROKER_URL),
        max_jobs=int(concurrency),
        poll_delay=float(poll_s),
        keep_result=0,
        log_results=False,
        handle_signals=False,
    )
    await worker.async_run()


if __name__ == "__main__":
    program.main(program.Program(client, work=work, run=uvloop.run))
