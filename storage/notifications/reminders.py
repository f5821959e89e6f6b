"""Reminders of people: kept, listed, changed, and fired: jobs and states of those that are due in one transaction."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Forbidden
from domain.jobs.job import JsonObject, KeysOf, Origin
from domain.notifications.reminders import Course, Reminder, ReminderState, Timing
from domain.payloads.reminders import DeliverPayload
from storage.jobs import ledger
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

MOST_OPEN = 1_000
"""Reminders of one person that are still to ring: more than anybody keeps in mind."""
BY = Origin(actor_id="reminders")
RETENTION = Retention("reminders", "changed_at", timedelta(days=90), only="t.due_at is null")
"""One that is over is kept as long as the notification that it became."""


class DueReminder(NamedTuple):
    """A reminder whose time has come."""

    reminder_id: UUID
    org_id: UUID


class WantedReminder(NamedTuple):
    """What a person wants to be reminded of."""

    title: str
    body: str | None
    timing: Timing


def add(tx: Transaction, org_id: UUID, user_id: UUID, wanted: WantedReminder, course: Course, *, by: str) -> Reminder:
    """Keep a new reminder of a person of the org; raises `Forbidden` above the number that a person may have.

    Nobody adds another for this person before the transaction ends.
    """
    tx.run("lock_reminders_of_user", user_id=user_id)
    check_room(tx, org_id, user_id)
    values = _timing(wanted.timing) | _course(course)
    rows = tx.run(
        "add_reminder", org_id=org_id, user_id=user_id, title=wanted.title, body=wanted.body, created_by=by, **values
    )
    return _reminder(rows[0])


def check_room(tx: Transaction, org_id: UUID, user_id: UUID) -> None:
    """Raise `Forbidden` when a person has as many reminders that are to ring as one may have."""
    if tx.run("count_open_reminders", org_id=org_id, user_id=user_id, most=MOST_OPEN)[0].reminders >= MOST_OPEN:
        raise Forbidden(f"a person has at most {MOST_OPEN} reminders that are still to ring")


def find(tx: Transaction, reminder_id: UUID) -> Reminder | None:
    """A reminder that the transaction may see."""
    return tx.first("find_reminder", _reminder, reminder_id=reminder_id)


def take(tx: Transaction, reminder_id: UUID) -> Reminder | None:
    """The same, locked until the transaction ends."""
    return tx.first("take_reminder", _reminder, reminder_id=reminder_id)


def change(
    tx: Transaction, reminder: Reminder, wanted: WantedReminder, course: Course, *, anew: bool = False
) -> Reminder:
    """Write new words, times and course; the occurrence rises. `anew`: as if it had never rung."""
    values = _timing(wanted.timing) | _course(course)
    rows = tx.run(
        "change_reminder",
        reminder_id=reminder.reminder_id,
        title=wanted.title,
        body=wanted.body,
        sent_at=None if anew else reminder.sent_at,
        **values,
    )
    return _reminder(rows[0])


def move_on(tx: Transaction, reminder: Reminder, course: Course) -> bool:
    """Write down that a reminder has rung, and how it goes on; false when it has rung or was changed meanwhile."""
    rows = tx.run(
        "move_reminder_on", reminder_id=reminder.reminder_id, occurrence=reminder.occurrence, **_course(course)
    )
    return bool(rows)


def give_up(tx: Transaction, org_id: UUID, job_type: str, payload: JsonObject) -> None:
    """Cancel the reminder of a job that died and that nobody replays; jobs of other types have none."""
    if job_type == DeliverPayload.declaration.job_type:
        tx.run("give_reminder_up", org_id=org_id, payload=Jsonb(payload))


def remove(tx: Transaction, reminder_id: UUID) -> None:
    """Forget a reminder; its job finds none."""
    tx.run("remove_reminder", reminder_id=reminder_id)


def list_due(tx: Transaction, *, besides: Collection[UUID] = (), limit: int) -> Sequence[DueReminder]:
    """The reminders that have been due for longest; those that somebody has locked, and those of `besides`, are not."""
    rows = tx.run("list_due_reminders", besides=list(besides), limit=limit)
    return [DueReminder(row.reminder_id, row.org_id) for row in rows]


def fire(tx: Transaction, due: Sequence[DueReminder], *, hint_timeout: timedelta) -> int:
    """Enqueue the job of each reminder that is due still, and that nobody has locked; returns how many."""
    rows = tx.run("queue_due_reminders", reminder_ids=[one.reminder_id for one in due])
    jobs = [
        DeliverPayload(reminder_id=row.reminder_id, user_id=row.user_id, occurrence=row.occurrence).job(
            org_id=row.org_id,
            origin=BY,
            idempotency_key=f"reminder:{row.reminder_id}:{row.occurrence}",
            keys_of=KeysOf.FLEET,
        )
        for row in rows
    ]
    # The relay, which fires, finds them in the backlog at once.
    ledger.enqueue(tx, jobs, publisher=False, hint_timeout=hint_timeout)
    return len(jobs)


def _timing(timing: Timing) -> dict[str, object]:
    return asdict(timing)


def _course(course: Course) -> dict[str, object]:
    return asdict(course) | {"state": course.state.value}


def _reminder(row: Row) -> Reminder:
    values = row._asdict()
    timing = Timing(**{name: values.pop(name) for name in Timing.__slots__})
    course = Course(**{name: values.pop(name) for name in Course.__slots__} | {"state": ReminderState(row.state)})
    return Reminder(**values, timing=timing, course=course)
