"""The workflows family: start a run, and take it further in short steps."""

from domain.jobs.failures import Permanent
from domain.jobs.job import Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import ENGINE
from domain.payloads.workflows import AdvancePayload, RunPayload
from engine.catalogue import job
from engine.context import JobContext


@job(queue=Queue.DEFAULT, retry=ENGINE)
def run(ctx: JobContext, payload: RunPayload) -> Outcome:
    """Start a run of a workflow."""
    raise Permanent(f"{payload.workflow}: runs are not there yet (job {ctx.job.job_id})")


@job(queue=Queue.DEFAULT, retry=ENGINE)
def advance(ctx: JobContext, payload: AdvancePayload) -> Outcome:
    """Take a run further."""
    raise Permanent(f"{payload.run_id}: runs are not there yet (job {ctx.job.job_id})")
