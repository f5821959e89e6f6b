"""Job types that enqueue children, loaded into a worker by `--include`, as the probe jobs."""

import threading

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.payloads.payload import Payload
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext


class Branching(Payload, job_type="bearing_jobs.branching"):
    """How many generations are to follow."""

    generations: int = 0


@job(queue=Queue.DEFAULT)
def branching(ctx: JobContext, payload: Branching) -> Outcome:
    """Take a moment, and enqueue three children: with a settlement of the loop and of the handler in turns."""
    threading.Event().wait(0.005)
    if not payload.generations:
        return Done()
    child = Branching(generations=payload.generations - 1).job(org_id=ctx.org_id)
    return Done(children=(child,) * 3, writes=(lambda _tx: None) if payload.generations % 2 else None)


class Early(Payload, job_type="bearing_jobs.early"):
    """What goes wrong with its transaction, if anything does."""

    word: str = ""


@job(queue=Queue.DEFAULT)
def early(ctx: JobContext, payload: Early) -> Outcome:
    """Enqueue a child before the end."""
    with ctx.tx() as tx:
        ctx.enqueue(tx, Branching())
        if payload.word == "bug":
            raise ZeroDivisionError
    return Done()


register(branching)
register(early)
