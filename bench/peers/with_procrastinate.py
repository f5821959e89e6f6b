"""Procrastinate: psycopg pool, uvloop, notifications on; concurrency from the command line."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import procrastinate
import uvloop

from bench import measured_job
from bench.peers import program

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=program.DATABASE_URL, min_size=2, max_size=20)
)


@app.task(name="noop")
async def noop() -> None:
    """Count one job."""
    measured_job.count()


@app.task(name="io_bound")
async def io_bound() -> None:
    """Wait, then count one job."""
    await measured_job.wait_async(program.WAIT_S)


@app.task(name="note")
async def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


JOBS = {"noop": noop, "io_bound": io_bound, "note": note}


class Sender:
    """Enqueues by `batch_defer`."""

    async def fill(self, job: str, jobs: int) -> None:
        """A thousand per statement."""
        for size in program.batches(jobs):
            await JOBS[job].batch_defer_async(*[{}] * size)

    async def send(self, job: str, *arguments: int) -> None:
        """One per statement."""
        await JOBS[job].defer_async(**({"sent_ns": arguments[0]} if arguments else {}))


@asynccontextmanager
async def client(sender: Callable[[], Sender] = Sender) -> AsyncIterator[Sender]:
    """Connect."""
    async with app.open_async():
        yield sender()


async def install() -> None:
    """Make the tables."""
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def work(concurrency: str) -> None:
    """Run `concurrency` jobs at once."""
    async with app.open_async():
        await app.run_worker_async(
            concurrency=int(concurrency), listen_notify=True, delete_jobs="never", name=f"worker-{os.getpid()}"
        )


if __name__ == "__main__":
    program.main(program.Program(client, install, work, run=uvloop.run))
