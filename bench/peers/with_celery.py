"""Plain Celery: JSON, no results, no events; prefetch, acknowledgements and their emulation by its environment."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from celery import Celery

from bench import tick
from bench.peers import verbs

app = Celery("plain", broker=verbs.BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue="plain",
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "64")),
    worker_enable_remote_control=os.environ.get("BENCH_REMOTE_CONTROL", "1") == "1",
    broker_connection_retry_on_startup=True,
    accept_content=["json"],
)
if os.environ.get("BENCH_ACK_EMULATION") == "0":
    app.conf.broker_transport_options = {"ack_emulation": False}


@app.task(name="noop")
def noop() -> None:
    """Be counted."""
    tick.tick()


@app.task(name="nap")
def nap() -> None:
    """Be counted after a nap."""
    tick.nap(verbs.NAP_S)


@app.task(name="note")
def note(sent_ns: int) -> None:
    """Note how late it is."""
    tick.arrive(sent_ns)


JOBS = {"noop": noop, "nap": nap, "note": note}


class Sender:
    """Enqueues by `apply_async`, on one producer's connection; Celery has no call for many."""

    async def fill(self, job: str, jobs: int) -> None:
        """One message after the other."""
        for _ in range(jobs):
            JOBS[job].apply_async()

    async def send(self, job: str, *arguments: int) -> None:
        """One message."""
        JOBS[job].apply_async(arguments)


@asynccontextmanager
async def client() -> AsyncIterator[Sender]:
    """Celery connects by itself."""
    yield Sender()


if __name__ == "__main__":
    verbs.main(verbs.Program(client))
