"""Reminders: what a person is to be told, and when; put off, done, changed while their job waits."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import BeforeValidator, Field

from domain.instants import read_time
from domain.jobs.contract import Instant
from domain.jobs.failures import Invalid
from domain.jobs.scheduling.recurrence import LONGEST_RULE
from domain.notifications.reminders import (
    LEAST_REPEAT_S,
    LONGEST_BODY,
    LONGEST_TITLE,
    MOST_REPEAT_S,
    MOST_REPEATS,
    Course,
    Reminder,
    ReminderState,
    Timing,
    check_rule,
    done,
    first_course,
    local_time,
    reworded,
    snoozed,
)
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.operation import WORDS, Area, Record, Route
from operations.pages import Page, Window
from storage.jobs import ledger
from storage.notifications import reminders
from storage.notifications.reminders import WantedReminder
from storage.orgs.access import users
from storage.postgres.database import Transaction

REMINDERS = Area(
    "reminders",
    "Remind people, once or by a rule: add, list, change, snooze, finish and delete reminders.",
    org="required",
    writes=Role.WRITER,
)

DUE = "When it is due first, such as `2026-12-24T09:00` by the clock of the zone, or with an offset."
Title = Annotated[str, Field(pattern=WORDS, max_length=LONGEST_TITLE, description="What the person is reminded of.")]
NewTitle = Annotated[str | None, Field(pattern=WORDS, max_length=LONGEST_TITLE, description="Another title.")]
At = Annotated[datetime, BeforeValidator(read_time), Field(description=DUE)]
NewAt = Annotated[Annotated[datetime, BeforeValidator(read_time)] | None, Field(description=DUE)]
Rule = Annotated[
    str | None,
    Field(max_length=LONGEST_RULE, description="When it is due again, such as `FREQ=WEEKLY;BYDAY=MO` (RFC 5545)."),
]
NO_CONTROLS = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""JSON writes a control character in six bytes, so that the words would not fit into their notification."""
Body = Annotated[
    str | None, Field(max_length=LONGEST_BODY, pattern=NO_CONTROLS, description="More words; the title without them.")
]
RepeatEvery = Annotated[
    int | None,
    Field(ge=LEAST_REPEAT_S, le=MOST_REPEAT_S, description="Ring again after so many seconds, until it is done."),
]
RepeatAtMost = Annotated[int | None, Field(ge=1, le=MOST_REPEATS, description="How many times it rings again at most.")]
Zone = Annotated[str | None, Field(max_length=100, description="Whose clock is meant, such as `Europe/Berlin`.")]


class ReminderView(Record):
    """A reminder."""

    values: ClassVar = ("title", "body")
    plural: ClassVar = "reminders"
    columns: ClassVar = ("reminder_id", "user_id", "title", "state", "due_at", "zone", "rule", "snoozed_until")
    reminder_id: UUID
    org_id: UUID
    user_id: UUID
    title: str
    body: str | None
    at: Annotated[str, BeforeValidator(lambda at: at.isoformat() if isinstance(at, datetime) else at)] = Field(
        validation_alias="starts_local", description="By the clock of `zone`."
    )
    zone: str
    rule: str | None
    repeat_every_s: int | None
    repeat_at_most: int | None
    state: ReminderState
    occurrence: int = Field(description="Rises with each ring and each change.")
    due_at: datetime | None = Field(description="When it rings next.")
    snoozed_until: datetime | None
    sent_at: datetime | None = Field(description="When it rang last.")
    created_at: datetime


@REMINDERS.look("list", Route("GET", "/reminders"))
def list_reminders(
    call: Call, window: Window, *, user_id: Annotated[UUID | None, Field(description="Only this person's.")] = None
) -> Page[ReminderView]:
    """List an org's reminders, the newest first."""
    with call.reading() as tx:
        if user_id is None:
            return window.records(tx, "list_reminders", ReminderView, org_id=call.org)
        return window.records(tx, "list_reminders_of_user", ReminderView, org_id=call.org, user_id=user_id)


@REMINDERS.look("show", Route("GET", "/reminders/{reminder_id}"))
def show_reminder(call: Call, reminder_id: UUID) -> ReminderView:
    """Show a reminder, and when it rings next."""
    with call.reading() as tx:
        return _view(call.found(reminders.find(tx, reminder_id), f"reminder {reminder_id}"))


@REMINDERS.deed(
    "add", Route("POST", "/reminders", location="/v1/reminders/{reminder_id}"), events=("reminder.added",), keyed=True
)
def add_reminder(  # noqa: PLR0913 - one parameter per field
    call: Call,
    *,
    user_id: Annotated[UUID, Field(description="Who is reminded: a person of the org.")],
    title: Title,
    at: At,
    body: Body = None,
    zone: Zone = None,
    rule: Rule = None,
    repeat_every_s: RepeatEvery = None,
    repeat_at_most: RepeatAtMost = None,
) -> ReminderView:
    """Remind a person, once or by a rule. Without a zone it is the person's; the reminder keeps the zone."""
    with call.writing() as tx:
        own_zone = users.zone_of(tx, call.org, user_id)
        if own_zone is None:
            raise Invalid("user_id", "names nobody of the org")
        in_zone = zone or own_zone
        timing = Timing(local_time(at, in_zone), in_zone, check_rule(rule or ""), repeat_every_s, repeat_at_most)

        def make() -> Sequence[UUID]:
            course = first_course(timing, ledger.read_time(tx))
            wanted = WantedReminder(title, body or None, timing)
            made = reminders.add(tx, call.org, user_id, wanted, course, by=call.origin.actor_id)
            _audit(call, tx, made)
            return [made.reminder_id]

        (reminder_id,) = call.once(tx, make)
        return _view(call.found(reminders.find(tx, reminder_id), f"reminder {reminder_id}"))


@REMINDERS.deed("edit", Route("PATCH", "/reminders/{reminder_id}"), events=("reminder.edited",))
def edit_reminder(  # noqa: PLR0913 - one parameter per field
    call: Call,
    reminder_id: UUID,
    *,
    title: NewTitle = None,
    body: Body = None,
    at: NewAt = None,
    zone: Zone = None,
    rule: Rule = None,
    repeat_every_s: RepeatEvery = None,
    repeat_at_most: RepeatAtMost = None,
    repeats: Annotated[bool, Field(description="False: it does not ring again until it is done.")] = True,
) -> ReminderView:
    """Change a reminder; what is not given stays. An empty body or rule goes. Another time ends a snooze."""
    with call.writing() as tx:
        found = _taken(call, tx, reminder_id)
        old = found.timing
        in_zone = zone or old.zone
        timing = replace(
            old,
            starts_local=old.starts_local if at is None else local_time(at, in_zone),
            zone=in_zone,
            rule=old.rule if rule is None else check_rule(rule),
            repeat_every_s=(old.repeat_every_s if repeat_every_s is None else repeat_every_s) if repeats else None,
            repeat_at_most=(old.repeat_at_most if repeat_at_most is None else repeat_at_most) if repeats else None,
        )
        wanted = WantedReminder(title or found.title, found.body if body is None else body or None, timing)
        if wanted == WantedReminder(found.title, found.body, old):
            raise Invalid("title", "nothing is changed")
        has_new_time = (timing.starts_local, timing.zone, timing.rule) != (old.starts_local, old.zone, old.rule)
        timing.check()
        course = first_course(timing, ledger.read_time(tx)) if has_new_time else reworded(found)
        return _changed(call, tx, found, wanted, course, anew=has_new_time)


@REMINDERS.deed("snooze", Route("POST", "/reminders/{reminder_id}/snooze"), events=("reminder.snoozed",))
def snooze_reminder(
    call: Call,
    reminder_id: UUID,
    *,
    until: Annotated[Instant, Field(description="When it rings again; the next due time of its rule comes first.")],
) -> ReminderView:
    """Let a reminder ring again, or later: this occurrence, and no other."""
    with call.writing() as tx:
        found = _taken(call, tx, reminder_id)
        course = snoozed(found, until, ledger.read_time(tx))
        return _changed(call, tx, found, _wanted(found), course)


@REMINDERS.deed("done", Route("POST", "/reminders/{reminder_id}/done"), events=("reminder.done",))
def finish_reminder(call: Call, reminder_id: UUID) -> ReminderView:
    """Let a reminder ring no more; one with a rule goes on with the next due time."""
    with call.writing() as tx:
        found = _taken(call, tx, reminder_id)
        return _changed(call, tx, found, _wanted(found), done(found, ledger.read_time(tx)))


@REMINDERS.deed("delete", Route("DELETE", "/reminders/{reminder_id}"), events=("reminder.deleted",))
def delete_reminder(call: Call, reminder_id: UUID) -> ReminderView:
    """Forget a reminder, with all its due times."""
    with call.writing() as tx:
        found = _taken(call, tx, reminder_id)
        reminders.remove(tx, reminder_id)
        _audit(call, tx, found)
        return _view(found)


def _taken(call: Call, tx: Transaction, reminder_id: UUID) -> Reminder:
    return call.found(reminders.take(tx, reminder_id), f"reminder {reminder_id}")


def _wanted(found: Reminder) -> WantedReminder:
    return WantedReminder(found.title, found.body, found.timing)


def _changed(
    call: Call, tx: Transaction, found: Reminder, wanted: WantedReminder, course: Course, *, anew: bool = False
) -> ReminderView:
    if found.is_over and course.due_at is not None:
        reminders.check_room(tx, found.org_id, found.user_id)
    changed = reminders.change(tx, found, wanted, course, anew=anew)
    _audit(call, tx, changed)
    return _view(changed)


def _audit(call: Call, tx: Transaction, found: Reminder) -> None:
    """Without the words: they are the person's."""
    facts = {"reminder_id": str(found.reminder_id), "user_id": str(found.user_id), "occurrence": found.occurrence}
    due_at = found.course.due_at
    call.audit(tx, found.org_id, facts | {"due_at": None if due_at is None else due_at.isoformat()})


def _view(found: Reminder) -> ReminderView:
    return ReminderView.model_validate(asdict(found) | asdict(found.timing) | asdict(found.course))
