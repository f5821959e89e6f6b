"""Dramatiq on Redis: its standard middleware; processes and threads from the peer's own command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench import measured_job
from bench.peers import program

broker = RedisBroker(url=program.BROKER_URL or "redis://")
dramatiq.set_broker(broker)


@dramatiq.actor
def noop() -> None:
    """Count one job."""
    measured_job.count()


@dramatiq.actor
def io_bound() -> None:
    """Wait, then count one job."""
    measured_job.wait(program.WAIT_S)


@dramatiq.actor
def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


JOBS: dict[str, Any] = {"noop": noop, "io_bound": io_bound, "note": note}


def enqueue(job: str, *arguments: int) -> None:
    """Enqueue by `send`; Dramatiq has no call for many."""
    JOBS[job].send(*arguments)


@asynccontextmanager
async def client() -> AsyncIterator[program.OneByOne]:
    """Dramatiq connects by itself."""
    yield program.OneByOne(enqueue)


if __name__ == "__main__":
    program.main(program.Program(client))
