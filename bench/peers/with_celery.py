"""Plain Celery: JSON, no results, no events; prefetch and acknowledgements from environment variables."""

import itertools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from celery import Celery

from bench import measured_job
from bench.peers import program

app = Celery("plain", broker=program.BROKER_URL)
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
    """Count one job."""
    measured_job.count()


@app.task(name="io_bound")
def io_bound() -> None:
    """Wait, then count one job."""
    measured_job.wait(program.WAIT_S)


@app.task(name="note")
def note(sent_ns: int) -> None:
    """Record the latency."""
    measured_job.record_latency(sent_ns)


@app.task(name="ingest")
def ingest(account_id: str, message: int) -> None:
    """Count one job, and enqueue the message's classification."""
    measured_job.count()
    classify.apply_async((account_id, message))


@app.task(name="classify")
def classify(account_id: str, message: int) -> None:
    """Count one job, and enqueue a draft for every fourth message."""
    measured_job.count()
    if measured_job.needs_draft(message):
        draft.apply_async((account_id, message))


@app.task(name="draft")
def draft(_account_id: str, _message: int) -> None:
    """Count one job."""
    measured_job.count()


JOBS = {"noop": noop, "io_bound": io_bound, "note": note}
NUMBERS = itertools.count()


def enqueue(job: str, *arguments: int) -> None:
    """Enqueue by `apply_async`, on one producer's connection; Celery has no call for many."""
    if job == "mail":
        message = next(NUMBERS)
        ingest.apply_async((measured_job.account_of(message), message))
    else:
        JOBS[job].apply_async(arguments)


@asynccontextmanager
async def client() -> AsyncIterator[program.OneByOne]:
    """Celery connects by itself."""
    yield program.OneByOne(enqueue)


if __name__ == "__main__":
    program.main(program.Program(client))
