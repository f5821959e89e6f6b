"""The mail pipeline as plain Celery tasks: each runs a step, then enqueues the task of the next one."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from celery import Celery

from bench.peers import mail_steps, program

app = Celery("plain_pipeline", broker=program.BROKER_URL)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_queue="plain_pipeline",
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "4")),
    broker_connection_retry_on_startup=True,
    accept_content=["json"],
)
task = partial(app.task, autoretry_for=mail_steps.RETRIED, retry_backoff=True, max_retries=mail_steps.MOST_RETRIES)


@task(name="ingest")
def ingest(box_id: str, message_id: str) -> None:
    """Store a message, and have it classified."""
    mail_steps.ingest(box_id, message_id)
    classify.apply_async((box_id, message_id))


@task(name="classify")
def classify(box_id: str, message_id: str) -> None:
    """Classify a message, and order a draft where a reply is due."""
    if thread_id := mail_steps.classify(box_id, message_id):
        draft.apply_async((box_id, thread_id))


@task(name="draft")
def draft(box_id: str, thread_id: str) -> None:
    """Write a draft into a thread."""
    mail_steps.draft(box_id, thread_id)


def enqueue(_job: str, *_arguments: int) -> None:
    """Enqueue the ingestion of the file's next message by `apply_async`; Celery has no call for many."""
    ingest.apply_async(next(mail_steps.messages()))


@asynccontextmanager
async def client() -> AsyncIterator[program.OneByOne]:
    """Celery connects by itself."""
    yield program.OneByOne(enqueue)


if __name__ == "__main__":
    program.main(program.Program(client))
