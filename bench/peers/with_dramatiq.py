"""Dramatiq on Redis: its standard middleware; processes and threads by its own command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench import tick
from bench.peers import verbs

broker = RedisBroker(url=verbs.BROKER_URL or "redis://")
dramatiq.set_broker(broker)


@dramatiq.actor
def noop() -> None:
    """Be counted."""
    tick.tick()


@dramatiq.actor
def nap() -> None:
    """Be counted after a nap."""
    tick.nap(verbs.NAP_S)


@dramatiq.actor
def note(sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


JOBS: dict[str, Any] = {"noop": noop, "nap": nap, "note": note}


class Sender:
    """Enqueues by `send`; Dramatiq has no call for many."""

    async def fill(self, job: str, jobs: int) -> None:
        """One message after the other."""
        for _ in range(jobs):
            JOBS[job].send()

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        JOBS[job].send(*arguments)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Dramatiq connects by itself."""
    yield Sender()


if __name__ == "__main__":
    verbs.main(verbs.Program(client))
