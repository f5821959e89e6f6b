"""Finds out what became of effects whose job ended in doubt: asks their providers, or tells a person."""

from collections import Counter
from collections.abc import Callable, Sequence
from uuid import UUID

from domain.jobs.effects import CannotTell, Doubt, Finding, conclude, sort_out
from domain.jobs.failures import Permanent
from domain.jobs.job import Cancel, Done, NewJob, Outcome
from domain.notifications.alerts.alert import payload_of
from domain.notifications.alerts.due import alerts_of_doubts
from domain.payloads.maintenance import ResolveEffectPayload
from engine.catalogue import catalogue
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from storage.approvals import doubts
from storage.jobs import audit
from storage.postgres.database import Transaction
from storage.postgres.retention import BATCH
from tasks.mail.steps.mailbox_session import MAILBOX_AUDITS, Disconnected
from tasks.notifications.senders.email_sending import SENDER_AUDITS

AUDITS = ("effect.resolved", *MAILBOX_AUDITS, *SENDER_AUDITS)
"""What a question to a provider may write into the audit log."""


def look(ctx: JobContext, after: tuple[UUID, str], counts: Counter[str]) -> tuple[UUID, str] | None:
    """Look at a batch of effects in doubt; after which to go on, None at the end. Counts those asked and told about."""

    def sort(tx: Transaction, some: Sequence[Doubt]) -> dict[str, int]:
        to_ask, to_tell = sort_out(some, _can_ask)
        answers = enqueue_jobs(tx, [_question(ctx, each) for each in to_ask])
        # Was asked about before, in vain or just now.
        in_vain = [each for each, answer in zip(to_ask, answers, strict=True) if not answer.created and each.status]
        doubts.mark_unknown(tx, to_tell)
        raised = ctx.enqueue(tx, *[payload_of(one) for one in alerts_of_doubts([*to_tell, *in_vain])])
        return {"asked": sum(one.created for one in answers), "told": sum(one.created for one in raised)}

    with ctx.fleet() as tx:
        page = doubts.listed(tx, after=after, batch=BATCH)
    if left := ctx.for_orgs(page.doubts, sort, counts):
        counts.update(put_off=len(left))
    return page.place


def resolve(ctx: JobContext, payload: ResolveEffectPayload) -> Outcome:
    """Ask the provider about one effect, and write down the answer with the job's end."""
    with ctx.tx() as tx:
        doubt = doubts.read(tx, ctx.job, payload.key)
    if doubt is None:
        return Cancel("the effect is not in doubt any more")
    known = catalogue.find(doubt.job_type)
    finder = None if known is None else known.finder(doubt.key)
    if known is None or finder is None:
        return Cancel("nobody knows how to ask about it")
    payload_of_job = known.read(doubt.payload, doubt.payload_version)
    end = conclude(_answer(lambda: finder(ctx, payload_of_job, doubt.key)))

    def write(tx: Transaction) -> None:
        if doubts.conclude(tx, ctx.job, doubt, end.status, result=end.result, error=end.error):
            facts = {"key": doubt.key, "status": end.status.value, "job_type": doubt.job_type}
            audit.append(tx, ctx.job, "effect.resolved", facts)

    return Done({"key": doubt.key, "status": end.status.value}, writes=write)


def _can_ask(doubt: Doubt) -> bool:
    known = None if doubt.job_type is None else catalogue.find(doubt.job_type)
    return known is not None and known.finder(doubt.key) is not None


def _answer(ask: Callable[[], Finding]) -> Finding:
    """What the provider says. Where it refuses the question for good, a person must hear of the doubt."""
    try:
        return ask()
    except (Permanent, Disconnected) as refusal:
        return CannotTell(f"the question was refused: {refusal.reason}")


def _question(ctx: JobContext, doubt: Doubt) -> NewJob:
    """The job that asks about an effect, in the effect's own org."""
    return ResolveEffectPayload(key=doubt.key, account_id=doubt.account_id).job(
        org_id=doubt.org_id, origin=ctx.job.origin
    )
