"""The measured job types. They do nothing, so that all time is spent in the engine and the ledger."""

from datetime import timedelta
from typing import Any

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from bench import measured_job
from domain.jobs.failures import Transient
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Job, job
from engine.context import JobContext

WAIT_S = 0.1


class Nothing(Payload):
    """No fields."""


class Note(Payload, job_type="noop_jobs.note"):
    """When the job was enqueued, in nanoseconds of the machine's monotonic clock."""

    sent_ns: int


class Noop(Nothing, job_type="noop_jobs.noop"):
    """The payload of `noop`."""


@job(queue=Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Noop) -> Outcome:
    """Count one job."""
    measured_job.count()
    return Done()


class IoBound(Nothing, job_type="noop_jobs.io_bound"):
    """The payload of `io_bound`."""


@job(queue=Queue.DEFAULT)
def io_bound(_ctx: JobContext, _payload: IoBound) -> Outcome:
    """Wait, then count one job."""
    measured_job.wait(WAIT_S)
    return Done()


@job(queue=Queue.DEFAULT)
def note(_ctx: JobContext, payload: Note) -> Outcome:
    """Record the latency."""
    measured_job.record_latency(payload.sent_ns)
    return Done()


class Alert(Payload, job_type="noop_jobs.alert"):
    """As `Note`, for another queue."""

    sent_ns: int


@job(queue=Queue.CRITICAL)
def alert(_ctx: JobContext, payload: Alert) -> Outcome:
    """Record the latency, in another queue than all other measured jobs."""
    measured_job.record_latency(payload.sent_ns)
    return Done()


class Numbered(Payload, job_type="noop_jobs.numbered"):
    """The number of an item."""

    number: int


@job(queue=Queue.DEFAULT)
def numbered(_ctx: JobContext, payload: Numbered) -> Outcome:
    """Count one job, and return its number."""
    measured_job.count()
    return Done({"number": payload.number})


class Dying(Nothing, job_type="noop_jobs.dying"):
    """The payload of `dying`."""


@job(queue=Queue.DEFAULT, retry=RetryPolicy("once", 1, timedelta(seconds=1), timedelta(seconds=1)))
def dying(_ctx: JobContext, _payload: Dying) -> Outcome:
    """Die at once, so that a dead letter is quarantined."""
    raise Transient("meant to die")


MEASURED: tuple[Job[Any], ...] = (noop, io_bound, note, alert, numbered, dying)

for measured in MEASURED:
    register(measured)
