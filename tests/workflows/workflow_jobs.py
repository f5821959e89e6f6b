"""Job types for the nodes of workflows, loaded into a worker with `--include tests.workflows.workflow_jobs`."""

from typing import Any

import tasks  # noqa: F401  # its walk registers all job types known by then; those below are registered after it
from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.uniqueness import while_active
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from tests.doubles.probe_jobs import AT_ONCE

BROKEN: set[str] = set()
"""Words whose jobs fail in this process, until somebody takes the words out."""


class Said(Payload):
    """What the job returns, and how it ends."""

    value: Any = None
    word: str = ""

    def output(self) -> JsonObject:
        """What a job with this payload returns; raises what ends it otherwise."""
        if self.word in BROKEN:
            raise Permanent(f"{self.word} is broken")
        return {"value": self.value, "word": self.word}


class Echo(Said, job_type="workflow_jobs.echo"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def echo(_ctx: JobContext, payload: Echo) -> Outcome:
    """Return what was said."""
    return Done(payload.output())


class Once(Said, job_type="workflow_jobs.once", unique=while_active("word")): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def once(_ctx: JobContext, payload: Once) -> Outcome:
    """The same, of a type with a unique key."""
    return Done(payload.output())


class Write(Said, job_type="workflow_jobs.write"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def write(ctx: JobContext, payload: Write) -> Outcome:
    """The same, with an end in the handler's own transaction, and at a cost."""
    ctx.step("bill", dict, cost=lambda _: 7)
    return Done(writes=lambda _tx: payload.output())


class Odd(Said, job_type="workflow_jobs.odd"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def odd(_ctx: JobContext, payload: Odd) -> Outcome:
    """End in an odd way, by the word."""
    match payload.word:
        case "large":
            return Done({"text": "x" * 300_000})
        case "nul":
            return Done({"text": "\0"})
        case "not a number":
            return Done({"number": float("nan")})
        case "dies":
            raise Transient("again and again")
    return Done(payload.output())


for one in (echo, once, write, odd):
    register(one)
