"""The workflows family: begin a run, and take it further until its last node has ended."""

from functools import partial
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import ENGINE
from domain.payloads.workflows import AdvancePayload, RunPayload
from engine.catalogue import job
from engine.context import JobContext
from storage.jobs import audit
from storage.postgres.database import Transaction
from storage.workflows import runs
from storage.workflows.runs import NewRun
from tasks.workflows.steps.known import KnownWorkflow, known_workflow
from tasks.workflows.steps.stepping import ENDED, take_further
from tasks.workflows.steps.stopping import if_running

BEGUN = "workflow.begun"
"""The event in the audit log."""
ON_END = "workflow_advance_ended"


@job(queue=Queue.DEFAULT, retry=ENGINE, on_end=ON_END, hears_success=False, audits=(BEGUN,))
def run(ctx: JobContext, payload: RunPayload) -> Outcome:
    """Begin a run of a workflow, with the id of the job. It keeps to the version that is the latest now, or named.

    The run that an operation started is there already.
    """
    try:
        with ctx.read() as tx:
            known = known_workflow(ctx, tx, payload.workflow, payload.version)
        known.input_check.check(payload.input)
    except Invalid as refused:
        raise Invalid(f"payload.{refused.field}", refused.reason.partition(": ")[2]) from None
    output = {"run_id": str(ctx.job.job_id), "workflow": payload.workflow, "version": known.version}
    first = AdvancePayload(run_id=ctx.job.job_id).job(org_id=ctx.org_id)
    return Done(output, children=(first,), writes=partial(_begin, ctx, payload, known))


def _begin(ctx: JobContext, payload: RunPayload, known: KnownWorkflow, tx: Transaction) -> None:
    job = ctx.job
    new = NewRun(job.job_id, job.org_id, job.project_id, known.version, payload.input)
    runs.begin(tx, new, known.definition, by=job.origin)
    if if_running(tx, runs.lock(tx, job.job_id).answer) is None:
        return  # what an operation started may have ended before its job
    audit.append(tx, job, BEGUN, {"run_id": str(job.job_id), "workflow": payload.workflow, "version": known.version})


@job(queue=Queue.DEFAULT, retry=ENGINE, on_end=ON_END, hears_success=False, audits=(ENDED,))
def advance(ctx: JobContext, payload: AdvancePayload) -> Outcome:
    """Take a run further: count the nodes that have ended, and begin those whose turn has come."""
    return Done(writes=partial(_advance, ctx, payload.run_id))


def _advance(ctx: JobContext, run_id: UUID, tx: Transaction) -> None:
    """Take a run one transaction further; what is left is done in the place of this job among the org's."""
    if take_further(ctx, tx, run_id):
        ctx.enqueue(tx, AdvancePayload(run_id=run_id), run_at=ctx.job.created_at)
