"""Procrastinate: psycopg pool, uvloop, notifications on; concurrency by its command line."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import procrastinate
import uvloop

from bench import tick
from bench.peers import verbs

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=verbs.DATABASE_URL, min_size=2, max_size=20))


@app.task(name="noop")
async def noop() -> None:
    """Be counted."""
    tick.tick()


@app.task(name="nap")
async def nap() -> None:
    """Be counted after a nap."""
    await tick.nap_lightly(verbs.NAP_S)


@app.task(name="note")
async def note(sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


JOBS = {"noop": noop, "nap": nap, "note": note}


class Sender:
    """Enqueues by `batch_defer`."""

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per statement."""
        for size in verbs.batches(jobs):
            await JOBS[job].batch_defer_async(*[{}] * size)

    async def send(self, job: str, *arguments: int) -> None:
        """One per statement."""
        await JOBS[job].defer_async(**({"sent_ns": arguments[0]} if arguments else {}))


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Connect."""
    async with app.open_async():
        yield Sender()


async def install() -> None:
    """Make the tables."""
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def work(concurrency: str) -> None:
    """Run so many jobs at once."""
    async with app.open_async():
        await app.run_worker_async(
            concurrency=int(concurrency), listen_notify=True, delete_jobs="never", name=f"worker-{os.getpid()}"
        )


if __name__ == "__main__":
    verbs.main(verbs.Program(client, install, work, run=uvloop.run))
