"""Huey on Redis, without results: a consumer takes a job off its list, and a killed one loses it."""

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from huey import RedisHuey
from redis import ConnectionPool

from bench import tick
from bench.peers import verbs

# A connection for each thread of the consumer, and some to spare.
pool = ConnectionPool.from_url(verbs.BROKER_URL or "redis://", max_connections=400)
huey = RedisHuey("bench", results=False, connection_pool=pool, blocking=True)


@huey.task(name="noop")
def noop() -> None:
    """Be counted."""
    tick.tick()


@huey.task(name="nap")
def nap() -> None:
    """Be counted after a nap."""
    tick.nap(verbs.NAP_S)


@huey.task(name="note")
def note(sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


JOBS: dict[str, Any] = {"noop": noop, "nap": nap, "note": note}


class Sender:
    """Enqueues by calling; Huey has no call for many."""

    async def fill(self, job: str, jobs: int) -> None:
        """One message after the other."""
        for _ in range(jobs):
            JOBS[job]()

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        JOBS[job](*arguments)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Huey connects by itself."""
    yield Sender()


if __name__ == "__main__":
    # Huey names a job after its module, which must be the one that the consumer imports.
    verbs.main(verbs.Program(importlib.import_module("bench.peers.with_huey").client))
