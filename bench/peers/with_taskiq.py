"""Taskiq on a Redis stream, which acknowledges; processes and concurrency from the peer's own command line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisStreamBroker

from bench import measured_job
from bench.peers import program

broker = RedisStreamBroker(program.BROKER_URL or "redis://", consumer_id="0", xread_count=200).with_serializer(
    ORJSONSerializer()
)


@broker.task(task_name="noop")
async def noop() -> None:
    """Count one job."""
    measured_job.count()


@broker.task(task_name="io_bound")
async def io_bound() -> None:
    """Wait, then count one job."""
    await measured_job.wait_async(program.WAIT_S)


@broker.task(task_name="note")
async def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


JOBS: dict[str, Any] = {"noop": noop, "io_bound": io_bound, "note": note}


class Sender:
    """Enqueues by `kiq`."""

    async def fill(self, job: str, jobs: int) -> None:
        """A hundred at once, each on a connection of its own; Taskiq has no call for many."""
        for start in range(0, jobs, 100):
            await asyncio.gather(*(JOBS[job].kiq() for _ in range(min(100, jobs - start))))

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        await JOBS[job].kiq(*arguments)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    await broker.startup()
    try:
        yield Sender()
    finally:
        await broker.shutdown()


if __name__ == "__main__":
    program.main(program.Program(client))
