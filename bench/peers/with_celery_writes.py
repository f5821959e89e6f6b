"""The mail mix in plain Celery whose tasks write a row each, in a transaction that commits before the next task."""

import itertools
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from celery import Celery

from bench import measured_job
from bench.peers import program

ORG = "00000000-0000-4000-8000-000000000001"

app = Celery("plain_writes", broker=program.BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue="plain_writes",
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "64")),
    broker_connection_retry_on_startup=True,
    accept_content=["json"],
)
_of_thread = threading.local()
_numbers = itertools.count()


@app.task(name="ingest")
def ingest(account_id: str, message: int) -> None:
    """Count one job, write its row, and enqueue the message's classification."""
    measured_job.count()
    write(account_id, message, "ingest")
    classify.apply_async((account_id, message))


@app.task(name="classify")
def classify(account_id: str, message: int) -> None:
    """Count one job, write its row, and enqueue a draft for every fourth message."""
    measured_job.count()
    write(account_id, message, "classify")
    if measured_job.needs_draft(message):
        draft.apply_async((account_id, message))


@app.task(name="draft")
def draft(account_id: str, message: int) -> None:
    """Count one job, and write its row."""
    measured_job.count()
    write(account_id, message, "draft")


def write(account_id: str, message: int, step: str) -> None:
    """Write a row on this thread's connection, made after any fork; the statement is a transaction of its own."""
    if not hasattr(_of_thread, "connection"):
        _of_thread.connection = psycopg.connect(program.DATABASE_URL, autocommit=True)
    _of_thread.connection.execute(
        "insert into message_rows (org_id, account_id, message, step) values (%s, %s, %s, %s) on conflict do nothing",
        (ORG, account_id, message, step),
    )


def enqueue(_job: str, *_arguments: int) -> None:
    """Enqueue the next message by `apply_async`, on one producer's connection; Celery has no call for many."""
    message = next(_numbers)
    ingest.apply_async((measured_job.account_of(message), message))


@asynccontextmanager
async def client() -> AsyncIterator[program.OneByOne]:
    """Celery connects by itself."""
    yield program.OneByOne(enqueue)


if __name__ == "__main__":
    program.main(program.Program(client))
