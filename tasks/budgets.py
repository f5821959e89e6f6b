"""The budgets family: the task that tells of an org whose money for the day is gone."""

from datetime import date

from domain.job import Cancel, Done, Outcome
from domain.money import MICROCENTS_PER_CENT
from domain.payload import Payload
from domain.queues import Queue
from domain.retry import NOTIFICATIONS
from domain.uniqueness import for_ttl
from storage import audit, spending
from tasks.catalogue import job
from tasks.context import JobContext


class AlertPayload(Payload):
    """The day in UTC, and what the org might have spent on it."""

    day: date
    daily_microcents: int


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS, unique=for_ttl("day"))
def alert(ctx: JobContext, payload: AlertPayload) -> Outcome:
    """Tell once per org and day that its budget is gone: an audit event and a log record that monitoring watches."""
    with ctx.tx() as tx:
        exhausted = spending.exhausted_on(tx, payload.day)
    if not exhausted:
        return Cancel("the day was not exhausted")
    story = {"day": payload.day.isoformat(), "daily_cents": payload.daily_microcents / MICROCENTS_PER_CENT}
    with ctx.settling(Done(story)) as tx:
        audit.append(tx, ctx.job, "budget.told", story)
    ctx.log.error("budget_exhausted", **story)
    return Done(story)
