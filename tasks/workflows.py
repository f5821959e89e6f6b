"""The workflows family: begin a run, and take it further until its last node has ended."""

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import ENGINE
from domain.payloads.workflows import AdvancePayload, RunPayload
from engine.catalogue import job
from engine.context import JobContext


@job(queue=Queue.DEFAULT, retry=ENGINE)
def run(_ctx: JobContext, _payload: RunPayload) -> Outcome:
    """Begin a run of a workflow; its id is the job's."""
    return Done()


@job(queue=Queue.DEFAULT, retry=ENGINE, on_end="workflow_advance_ended")
def advance(_ctx: JobContext, _payload: AdvancePayload) -> Outcome:
    """Take a run further: count the nodes that have ended, and begin those whose turn has come."""
    return Done()
