"""Oban for Python: psycopg pool, orjson, uvloop; the queue's limit from the command line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import uvloop
from oban import Oban, worker
from oban.schema import install as install_schema
from psycopg.types.json import set_json_dumps, set_json_loads
from psycopg_pool import AsyncConnectionPool

from bench import measured_job
from bench.peers import program

set_json_dumps(orjson.dumps)
set_json_loads(orjson.loads)


@worker(queue="default")
class Noop:
    """Do nothing."""

    async def process(self, _job: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Count one job."""
        measured_job.count()


@worker(queue="default")
class IoBound:
    """Wait."""

    async def process(self, _job: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Wait, then count one job."""
        await measured_job.wait_async(program.WAIT_S)


@worker(queue="default")
class Note:
    """Record the latency."""

    async def process(self, job: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Record it."""
        measured_job.record_latency(job.args["sent"])


JOBS: dict[str, Any] = {"noop": Noop, "io_bound": IoBound, "note": Note}


class Sender:
    """Enqueues by `enqueue_many`."""

    def __init__(self, oban: Any) -> None:  # noqa: ANN401  # the peer's own type
        """Use an instance without queues."""
        self._oban = oban

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per statement."""
        for size in program.batches(jobs):
            await self._oban.enqueue_many([JOBS[job].new({}) for _ in range(size)])

    async def send(self, job: str, *arguments: int) -> None:
        """One per statement."""
        await self._oban.enqueue(JOBS[job].new({"sent": arguments[0]} if arguments else {}))


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    async with _pool() as pool, Oban(pool=pool, name="bench") as oban:
        yield Sender(oban)


async def install() -> None:
    """Make the tables."""
    async with _pool() as pool:
        await install_schema(pool)


async def work(limit: str) -> None:
    """Run `limit` jobs at once."""
    async with _pool() as pool, Oban(pool=pool, name="bench", queues={"default": int(limit)}):
        await asyncio.Event().wait()


def _pool() -> AsyncConnectionPool:
    return AsyncConnectionPool(program.DATABASE_URL, min_size=2, max_size=10, open=False)


if __name__ == "__main__":
    program.main(program.Program(client, install, work, run=uvloop.run))
