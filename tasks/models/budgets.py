"""The budgets family: the task that tells of an org whose money for the day is gone."""

from domain.jobs.job import Cancel, Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import NOTIFICATIONS
from domain.models.money import MICROCENTS_PER_CENT
from domain.payloads.budgets import AlertPayload
from engine.catalogue import job
from engine.context import JobContext
from storage.jobs import audit
from storage.models.money import spending
from storage.postgres.database import Transaction


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS, audits=("budget.told",))
def alert(ctx: JobContext, payload: AlertPayload) -> Outcome:
    """Tell once per org and day that its budget is gone: an audit event and a log record that monitoring watches."""
    with ctx.tx() as tx:
        exhausted = spending.exhausted_on(tx, payload.day)
    if not exhausted:
        return Cancel("the day was not exhausted")
    facts = {"day": payload.day.isoformat(), "daily_cents": payload.daily_microcents / MICROCENTS_PER_CENT}

    def write(tx: Transaction) -> None:
        audit.append(tx, ctx.job, "budget.told", facts)
        tx.after_commit(lambda: ctx.log.error("budget_exhausted", **facts))

    return Done(facts, writes=write)
