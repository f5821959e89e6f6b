"""A job type whose payload has changed its shape: cents became euros."""

from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext


def _to_euros(payload: JsonObject) -> JsonObject:
    return {"euros": payload["cents"] // 100} | {name: value for name, value in payload.items() if name != "cents"}


class Bill(Payload, job_type="versioned_jobs.pay", version=2, upcasts={1: _to_euros}):
    """Version 1 had `cents`."""

    euros: int


@job(queue=Queue.DEFAULT)
def pay(_ctx: JobContext, payload: Bill) -> Outcome:
    """Tell what is paid."""
    return Done({"euros": payload.euros})


register(pay)
