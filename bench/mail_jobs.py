"""Measured jobs in the shape of the mail pipeline: they declare and enqueue what the product does, and do nothing else.

A message is ingested, then classified; every fourth gets a draft. Nine jobs are run for four messages.
"""

from typing import Any
from uuid import UUID

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from bench import measured_job
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.jobs.uniqueness import while_active, while_queued
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Job, job
from engine.context import JobContext


class Ingest(Payload, job_type="mail_jobs.ingest", unique=while_active("account_id", "message")):
    """One message, by its number."""

    account_id: UUID
    message: int


class Classify(Payload, job_type="mail_jobs.classify", unique=while_active("account_id", "message")):
    """One message, by its number."""

    account_id: UUID
    message: int


class Draft(Payload, job_type="mail_jobs.draft", unique=while_queued("account_id", "message"), serial_by="account_id"):
    """One message, by its number."""

    account_id: UUID
    message: int


@job(queue=Queue.DEFAULT, retry=PIPELINE)
def ingest(ctx: JobContext, payload: Ingest) -> Outcome:
    """Count one job, and enqueue the message's classification."""
    measured_job.count()
    child = Classify(account_id=payload.account_id, message=payload.message)
    return Done(children=(child.job(org_id=ctx.org_id),))


@job(queue=Queue.DEFAULT)
def classify(ctx: JobContext, payload: Classify) -> Outcome:
    """Count one job, and enqueue a draft for every fourth message."""
    measured_job.count()
    if not measured_job.needs_draft(payload.message):
        return Done({"draft": False})
    child = Draft(account_id=payload.account_id, message=payload.message)
    return Done({"draft": True}, children=(child.job(org_id=ctx.org_id),))


@job(queue=Queue.DEFAULT, retry=PIPELINE)
def draft(_ctx: JobContext, _payload: Draft) -> Outcome:
    """Count one job."""
    measured_job.count()
    return Done()


MAIL_JOBS: tuple[Job[Any], ...] = (ingest, classify, draft)

for mail_job in MAIL_JOBS:
    register(mail_job)
