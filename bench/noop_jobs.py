"""The job types that are measured: they do nothing, so that all of the time is the frame's."""

from typing import Any

from bench import tick
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import Job, job
from engine.context import JobContext

NAP_S = 0.1


class Nothing(Payload):
    """No words."""


class Note(Payload, job_type="noop_jobs.note"):
    """When it was enqueued, by the machine's monotonic clock."""

    sent_ns: int


class Noop(Nothing, job_type="noop_jobs.noop"):
    """The payload of `noop`."""


@job(queue=Queue.DEFAULT)
def noop(_ctx: JobContext, _payload: Noop) -> Outcome:
    """Be counted."""
    tick.tick()
    return Done()


class LightNoop(Nothing, job_type="noop_jobs.light_noop"):
    """The payload of `light_noop`."""


@job(queue=Queue.DEFAULT, light=True)
def light_noop(_ctx: JobContext, _payload: LightNoop) -> Outcome:
    """Be counted, in a batch."""
    tick.tick()
    return Done()


class Nap(Nothing, job_type="noop_jobs.nap"):
    """The payload of `nap`."""


@job(queue=Queue.DEFAULT)
def nap(_ctx: JobContext, _payload: Nap) -> Outcome:
    """Be counted after a nap."""
    tick.nap(NAP_S)
    return Done()


class LightNap(Nothing, job_type="noop_jobs.light_nap"):
    """The payload of `light_nap`."""


@job(queue=Queue.DEFAULT, light=True)
def light_nap(_ctx: JobContext, _payload: LightNap) -> Outcome:
    """Be counted after a nap, without a Celery request."""
    tick.nap(NAP_S)
    return Done()


@job(queue=Queue.DEFAULT)
def note(_ctx: JobContext, payload: Note) -> Outcome:
    """Note how late it is."""
    tick.arrive(payload.sent_ns)
    return Done()


MEASURED: tuple[Job[Any], ...] = (noop, light_noop, nap, light_nap, note)

for measured in MEASURED:
    register(measured)
