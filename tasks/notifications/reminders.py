"""The reminders family: tell a person what they wanted to be reminded of."""

from functools import partial

from domain.jobs.failures import Transient
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import NOTIFICATIONS
from domain.notifications.built_in import REMINDER
from domain.notifications.reminders import CHANGED, Ring, Skipped, ring
from domain.payloads.reminders import DeliverPayload
from engine.catalogue import job
from engine.context import JobContext
from engine.relay.due_rows import due_tables
from storage.notifications import notifications, reminders
from storage.notifications.notifications import NotificationRequest
from storage.postgres.database import Transaction

due_tables.append(reminders)


@job(queue=Queue.NOTIFICATIONS, retry=NOTIFICATIONS, on_end="reminder_job_ended")
def deliver(ctx: JobContext, payload: DeliverPayload) -> Outcome:
    """Tell a person what they wanted to be reminded of, once for each time that it is due.

    The notification and how the reminder goes on are written together with the job's end.
    """
    with ctx.read() as tx:
        found = reminders.find(tx, payload.reminder_id)
    decided = ring(found, payload.user_id, payload.occurrence, ctx.now())
    if isinstance(decided, Skipped):
        return Done(_skipped(decided.reason))
    return Done(writes=partial(_tell, decided))


def _tell(decided: Ring, tx: Transaction) -> JsonObject:
    found = decided.reminder
    if not reminders.move_on(tx, found, decided.course):
        return _skipped(CHANGED)
    reminder_id = str(found.reminder_id)
    facts = {"reminder_id": reminder_id, "occurrence": found.occurrence, "missed": decided.missed}
    told = notifications.notify(
        tx,
        found.org_id,
        NotificationRequest(
            found.user_id,
            REMINDER,
            {"title": decided.title, "body": decided.body, "metadata": facts},
            bucket=f"{reminder_id}:{found.occurrence}",
            due_at=decided.due_at,
        ),
    )
    if told.refusal is not None:
        # Otherwise the reminder would count as sent, and nobody would have been reminded.
        raise Transient(f"the notification was refused: {told.refusal}", code="reminder.refused")
    return {"delivered": True, "reminder_id": reminder_id}


def _skipped(reason: str) -> JsonObject:
    return {"skipped": True, "reason": reason}
