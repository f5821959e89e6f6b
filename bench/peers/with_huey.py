"""Huey on Redis, without results: a consumer takes a job off its list, and a killed one loses it."""

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from huey import RedisHuey
from redis import ConnectionPool

from bench import measured_job
from bench.peers import program

# A connection for each thread of the consumer, and some to spare.
pool = ConnectionPool.from_url(program.BROKER_URL or "redis://", max_connections=400)
huey = RedisHuey("bench", results=False, connection_pool=pool, blocking=True)


@huey.task(name="noop")
def noop() -> None:
    """Count one job."""
    measured_job.count()


@huey.task(name="io_bound")
def io_bound() -> None:
    """Wait, then count one job."""
    measured_job.wait(program.WAIT_S)


@huey.task(name="note")
def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


JOBS: dict[str, Any] = {"noop": noop, "io_bound": io_bound, "note": note}


def enqueue(job: str, *arguments: int) -> None:
    """Enqueue by calling the task; Huey has no call for many."""
    JOBS[job](*arguments)


@asynccontextmanager
async def client() -> AsyncIterator[program.OneByOne]:
    """Huey connects by itself."""
    yield program.OneByOne(enqueue)


if __name__ == "__main__":
    # Huey names a job after its module, which must be the one that the consumer imports.
    program.main(program.Program(importlib.import_module("bench.peers.with_huey").client))
