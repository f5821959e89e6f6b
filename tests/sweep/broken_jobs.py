"""Job types that break a promise each, so that the sweep can be seen to find it."""

from datetime import timedelta
from hashlib import sha256
from uuid import UUID, uuid4

from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import RetryPolicy
from domain.payloads.payload import Payload
from domain.payloads.triage import ClassifyPayload
from domain.planning.files.artifacts import ArtifactFacts, NewArtifact, place_of
from engine.app import register
from engine.catalogue import job
from engine.context import JobContext
from engine.runtime import runtime
from providers.ports.language_model import ModelRequest
from storage.jobs import audit
from storage.mail.accounts import accounts
from tasks.mail.steps.language_model import shared_model
from tasks.mail.steps.mailbox_session import open_mailbox
from tasks.planning.files.artifact_files import record_file, store_of
from tests.doubles.mail_environment import letter

AT_ONCE = RetryPolicy("at_once", 3, timedelta(0), timedelta(0))


class ThreadPayload(Payload):
    """A message of a mailbox, and its thread."""

    account_id: UUID
    message_id: str
    thread_id: str


class Unguarded(ThreadPayload, job_type="broken_jobs.unguarded"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def unguarded(ctx: JobContext, payload: Unguarded) -> Outcome:
    """Make a draft outside of any effect (P3)."""
    with ctx.tx() as tx:
        account = accounts.get(tx, payload.account_id)
    with open_mailbox(ctx, account) as mailbox:
        mailbox.create_draft(letter("Re: Lunch?", "Noon is fine."), thread_id=payload.thread_id)
    return Done()


class Hasty(ThreadPayload, job_type="broken_jobs.hasty"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def hasty(ctx: JobContext, payload: Hasty) -> Outcome:
    """Announce a child before it is committed (P5)."""
    with ctx.tx() as tx:
        made = ctx.enqueue(tx, ClassifyPayload(account_id=payload.account_id, message_id=payload.message_id))
        runtime().publisher.publish([one.hint for one in made])
    return Done()


class Chattering(ThreadPayload, job_type="broken_jobs.chattering"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE, audits=("probe.noted",))
def chattering(ctx: JobContext, _payload: Chattering) -> Outcome:
    """Write what a second attempt writes again."""
    with ctx.tx() as tx:
        audit.append(tx, ctx.job, "probe.noted", {})
    return Done()


class Unfenced(ThreadPayload, job_type="broken_jobs.unfenced"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def unfenced(ctx: JobContext, _payload: Unfenced) -> Outcome:
    """Write without asking whether the claim still holds (P4)."""
    write_unfenced(ctx)
    return Done()


def write_unfenced(ctx: JobContext) -> None:
    with runtime().database.tenant(ctx.org_id) as tx:
        said = "insert into rules (org_id, kind, scope, content) values (%(org)s, 'direction', 'global', 'be brief')"
        tx.raw(said, {"org": ctx.org_id})


class UnfencedReader(ThreadPayload, job_type="broken_jobs.unfenced_reader"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def unfenced_reader(ctx: JobContext, payload: UnfencedReader) -> Outcome:
    """Read a mailbox, and write without asking whether the claim still holds (P4)."""
    with ctx.tx() as tx:
        account = accounts.get(tx, payload.account_id)
    with open_mailbox(ctx, account) as mailbox:
        mailbox.message(payload.message_id)
    write_unfenced(ctx)
    return Done()


class Spendthrift(ThreadPayload, job_type="broken_jobs.spendthrift"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def spendthrift(ctx: JobContext, _payload: Spendthrift) -> Outcome:
    """Ask the model outside of any step, so that a second attempt pays again."""
    request = ModelRequest(
        model=ctx.settings.draft_model,
        system="Draft a reply.",
        mail=letter("Lunch?", "Is noon fine?").decode(),
        tool_name="draft",
        tool_description="The reply.",
        tool_schema={"type": "object", "properties": {"body": {"type": "string"}}, "required": ["body"]},
        max_tokens=100,
    )
    return Done({"cost": shared_model(ctx).ask(request).cost_microcents})


class Garrulous(ThreadPayload, job_type="broken_jobs.garrulous"): ...


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def garrulous(ctx: JobContext, _payload: Garrulous) -> Outcome:
    """Audit a step that was not taken (P2)."""
    with runtime().database.ledger() as tx:
        audit.record(tx, ctx.job, "job.started", {})
    return Done()


class Boastful(ThreadPayload, job_type="broken_jobs.boastful"): ...


BOASTED: set[UUID] = set()
"""Jobs that have written their bytes once: a session that is lost spends no attempt, so attempts do not tell."""


@job(queue=Queue.DEFAULT, retry=AT_ONCE)
def boastful(ctx: JobContext, _payload: Boastful) -> Outcome:
    """Write an artifact's row, and its bytes the first time alone."""
    data = b"a plan"
    facts = ArtifactFacts(kind="plan", name="plan.txt", media_type="text/plain")
    made = NewArtifact(uuid4(), facts, len(data), sha256(data).hexdigest())
    if ctx.job.job_id not in BOASTED:
        BOASTED.add(ctx.job.job_id)
        store_of(ctx).put(place_of(ctx.org_id, made.artifact_id), [data])
    return Done(writes=lambda tx: record_file(tx, ctx.org_id, made))


for broken in (unguarded, hasty, chattering, unfenced, unfenced_reader, spendthrift, garrulous, boastful):
    register(broken)
