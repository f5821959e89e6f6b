"""The agents family: a profile's model looks after one thread, or does what it is asked, with tools and limits."""

from datetime import timedelta

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PATIENT, PIPELINE
from domain.payloads.agents import InvokePayload, ProcessPayload
from engine.catalogue import job
from engine.context import JobContext
from tasks.mail.steps.drafts.thread_draft import find_made
from tasks.mail.steps.mailbox_session import OF_MAILBOX
from tasks.models.agent_steps import on_request, on_thread
from tasks.models.agent_steps.conversation import carry_through


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=10),
    providers=("gmail", "anthropic"),
    on_end="agent_run_ended",
    **OF_MAILBOX,
    finds={"draft": find_made},
)
def process(ctx: JobContext, payload: ProcessPayload) -> Outcome:
    """Let an agent look after a thread: search, read, label, archive, draft, ask to reply, or call a person."""
    run = on_thread.read(ctx, payload)
    return run if isinstance(run, Done) else carry_through(ctx, run)


@job(
    queue=Queue.DEFAULT,
    retry=PATIENT,
    deadline=timedelta(minutes=10),
    providers=("gmail", "anthropic"),
    on_end="agent_run_ended",
    **OF_MAILBOX,
    finds={"draft": find_made},
)
def invoke(ctx: JobContext, payload: InvokePayload) -> Outcome:
    """Let an agent do what a schedule, a workflow or a service asks; a run that fails or is stopped fails the job."""
    return carry_through(ctx, on_request.read(ctx, payload))
