"""PgQueuer: asyncpg, uvloop, one connection per process; batch size and concurrency from the command line."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from bench import measured_job
from bench.peers import program


class Sender:
    """Enqueues by unnested arrays, as PgQueuer does itself."""

    def __init__(self, queries: Queries) -> None:
        """Use a connection's queries."""
        self.queries = queries

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per statement."""
        for size in program.batches(jobs):
            await self.queries.enqueue([job] * size, [None] * size, [0] * size)

    async def send(self, job: str, *arguments: int) -> None:
        """One per statement."""
        await self.queries.enqueue(job, str(arguments[0]).encode() if arguments else None, 0)


@asynccontextmanager
async def client(sender: Callable[[Queries], Sender] = Sender) -> AsyncIterator[Sender]:
    """Connect."""
    connection = await asyncpg.connect(program.DATABASE_URL)
    try:
        yield sender(Queries(AsyncpgDriver(connection)))
    finally:
        await connection.close()


async def install() -> None:
    """Make the tables."""
    connection = await asyncpg.connect(program.DATABASE_URL)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


async def work(batch: str, at_once: str = "0") -> None:
    """Take batches of so many; run so many at once, or all that were taken."""
    pgq = PgQueuer(AsyncpgDriver(await asyncpg.connect(program.DATABASE_URL)))

    @pgq.entrypoint("noop")
    async def noop(_job: object) -> None:
        measured_job.count()

    @pgq.entrypoint("io_bound")
    async def io_bound(_job: object) -> None:
        await measured_job.wait_async(program.WAIT_S)

    @pgq.entrypoint("note")
    async def note(job) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the peer's own type
        measured_job.record_latency(int(job.payload))

    await pgq.run(
        batch_size=int(batch), dequeue_timeout=timedelta(seconds=5), max_concurrent_tasks=int(at_once) or None
    )


if __name__ == "__main__":
    program.main(program.Program(client, install, work, run=uvloop.run))
