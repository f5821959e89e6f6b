"""The measured job types. They do nothing, so that all time is spent in the engine and the ledger."""

from typing import Any

from bench import measured_job
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Job, job
from engine.context import JobContext

WAIT_S = 0.1


class Nothing(Payload):
    """No fields."""


class Sent(Payload):
    """When the job was enqueued, in nanoseconds of the machine's monotonic clock."""

    sent_ns: int


@job(queue=Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Count one job."""
    measured_job.count()
    return Done()


@job(queue=Queue.DEFAULT, light=True)
def light_noop(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Count one job, as a light one."""
    measured_job.count()
    return Done()


@job(queue=Queue.DEFAULT)
def io_bound(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Wait, then count one job."""
    measured_job.wait(WAIT_S)
    return Done()


@job(queue=Queue.DEFAULT, light=True)
def light_io_bound(_ctx: JobContext, _payload: Nothing) -> Outcome:
    """Wait, then count one job, without a Celery request."""
    measured_job.wait(WAIT_S)
    return Done()


@job(queue=Queue.DEFAULT)
def note(_ctx: JobContext, payload: Sent) -> Outcome:
    """Record the latency."""
    measured_job.record_latency(payload.sent_ns)
    return Done()


MEASURED: tuple[Job[Any], ...] = (noop, light_noop, io_bound, light_io_bound, note)

for measured in MEASURED:
    register(measured)
