"""Measured jobs in the shape of the mail pipeline: they declare and enqueue what the product does, and do nothing else.

A message is ingested, then classified; every fourth gets a draft. Nine jobs are run for four messages. In the second
mix each job writes a row, too, in the transaction of its settlement.
"""

from functools import partial
from typing import Any
from uuid import UUID

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from bench import measured_job
from domain.jobs.job import Done, JsonObject, NewJob, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Job, job
from engine.context import JobContext
from storage.postgres.database import Transaction


class Ingest(Payload, job_type="mail_jobs.ingest", unique=while_active("account_id", "message")):
    """One message, by its number."""

    account_id: UUID
    message: int
    writes: bool = False
    """Whether each job of the message writes a row."""


class Classify(Payload, job_type="mail_jobs.classify", unique=while_active("account_id", "message")):
    """One message, by its number."""

    account_id: UUID
    message: int
    writes: bool = False


class Draft(Payload, job_type="mail_jobs.draft", unique=while_queued("account_id", "message"), serial_by="account_id"):
    """One message, by its number."""

    account_id: UUID
    message: int
    writes: bool = False


@job(queue=Queue.DEFAULT, retry=PIPELINE)
def ingest(ctx: JobContext, payload: Ingest) -> Outcome:
    """Count one job, and enqueue the message's classification."""
    measured_job.count()
    child = Classify(**payload.model_dump())
    return _done(ctx, payload, "ingest", child.job(org_id=ctx.org_id))


@job(queue=Queue.DEFAULT)
def classify(ctx: JobContext, payload: Classify) -> Outcome:
    """Count one job, and enqueue a draft for every fourth message."""
    measured_job.count()
    if not measured_job.needs_draft(payload.message):
        return _done(ctx, payload, "classify", output={"draft": False})
    child = Draft(**payload.model_dump())
    return _done(ctx, payload, "classify", child.job(org_id=ctx.org_id), output={"draft": True})


@job(queue=Queue.DEFAULT, retry=PIPELINE)
def draft(ctx: JobContext, payload: Draft) -> Outcome:
    """Count one job."""
    measured_job.count()
    return _done(ctx, payload, "draft")


def _done(
    ctx: JobContext, payload: Ingest | Classify | Draft, step: str, *children: NewJob, output: JsonObject | None = None
) -> Done:
    write = partial(_write, ctx.org_id, payload, step) if payload.writes else None
    return Done(output or {}, children, writes=write)


def _write(org_id: UUID, payload: Ingest | Classify | Draft, step: str, tx: Transaction) -> None:
    tx.raw(
        "insert into message_rows (org_id, account_id, message, step)"
        " values (%(org_id)s, %(account_id)s, %(message)s, %(step)s)",
        {"org_id": org_id, "account_id": payload.account_id, "message": payload.message, "step": step},
    )


MAIL_JOBS: tuple[Job[Any], ...] = (ingest, classify, draft)

for mail_job in MAIL_JOBS:
    register(mail_job)
