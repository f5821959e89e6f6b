"""Reminders: when one is due, what becomes of it when it has rung, and what a person may do with it meanwhile."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from uuid import UUID
from zoneinfo import ZoneInfo

from domain.jobs.failures import Conflict, Invalid
from domain.jobs.scheduling.recurrence import MOST_CANDIDATES, Recurrence
from domain.orgs.access.users import check_zone

LONGEST_TITLE = 200
LONGEST_BODY = 3_000
"""Characters: the words of a notification have 16 KB, and a character up to four bytes."""
LEAST_REPEAT_S, MOST_REPEAT_S = 60, 7 * 86_400
MOST_REPEATS = 100
LONGEST_SNOOZE = timedelta(days=366)
EARLIEST_YEAR, LATEST_YEAR = 1970, 2200
"""Between these the sums of a rule stay within what a `datetime` holds."""

NOT_FOUND = "Reminder not found"
"""In the words of the source document (docs: seeds.md#003-65)."""
CHANGED = "the reminder was changed, or rang, after this job was enqueued"


class ReminderState(StrEnum):
    """Where a reminder stands."""

    PENDING = "pending"
    """It rings at its due time."""
    QUEUED = "queued"
    """It is due, and its job waits."""
    SENT = "sent"
    """It has rung for the last time."""
    DONE = "done"
    CANCELED = "canceled"
    """Its job was canceled, and it has no other due time."""


OVER = {
    ReminderState.SENT: "the reminder was sent before",
    ReminderState.DONE: "the reminder is done",
    ReminderState.CANCELED: "the reminder was canceled",
}
"""Why a reminder that has no due time does not ring."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When a reminder rings: by the wall clock of its zone, once or by a rule; and again until it is done."""

    starts_local: datetime
    zone: str
    rule: str | None = None
    repeat_every_s: int | None = None
    repeat_at_most: int | None = None

    def check(self) -> None:
        """Raise `Invalid` with the field and the reason."""
        check_zone(self.zone)
        if self.rule is not None:
            Recurrence.parse(self.rule)
        if (self.repeat_every_s is None) is not (self.repeat_at_most is None):
            raise Invalid("repeat_at_most", "goes with repeat_every_s: how often it rings again, and how many times")

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time later than a moment; repeats and snoozes aside."""
        return next(iter(self._due_times(moment, most=1)), None)

    def passed(self, since: datetime, now: datetime) -> list[datetime]:
        """The due times that have passed after one, up to a bound."""
        return [due for due in self._due_times(since, most=MOST_CANDIDATES, until=now) if due <= now]

    def _due_times(self, after: datetime, *, most: int, until: datetime | None = None) -> list[datetime]:
        zone = ZoneInfo(self.zone)
        if self.rule is None:
            only = self.starts_local.replace(tzinfo=zone).astimezone(UTC)
            return [only] if only > after else []
        found: list[datetime] = []
        times = Recurrence.parse(self.rule).due_times(start=self.starts_local, zone=zone, after=after)
        for due in islice(times, most):
            if until is not None and due > until:
                break
            found.append(due)
        return found


@dataclass(frozen=True, slots=True)
class Course:
    """How a reminder goes on."""

    state: ReminderState
    due_at: datetime | None
    following_at: datetime | None = None
    """The due time after it, at which the reminder goes on should the job of this one end without it ringing."""
    snoozed_until: datetime | None = None
    repeats: int = 0
    """How often it has rung again since the last due time of its rule."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder as its row keeps it."""

    reminder_id: UUID
    org_id: UUID
    user_id: UUID
    title: str
    body: str | None
    timing: Timing
    course: Course
    occurrence: int
    """A number that rises with each ring and each change: a job of an earlier number is stale."""
    sent_at: datetime | None
    created_at: datetime

    @property
    def is_over(self) -> bool:
        """Whether it rings no more unless somebody changes it."""
        return self.course.due_at is None

    def dealt_with_until(self, now: datetime) -> datetime:
        """Up to when its due times are rung or over; one that has never rung is still before its first."""
        if self.sent_at is None and self.course.due_at is not None:
            return max(now, self.course.due_at)
        return now


@dataclass(frozen=True, slots=True)
class Ring:
    """What is said of a reminder, and how the reminder goes on."""

    reminder: Reminder
    title: str
    body: str
    missed: int
    due_at: datetime
    """The time that the person has chosen, the last one of those that have passed."""
    course: Course


@dataclass(frozen=True, slots=True)
class Skipped:
    """Why nothing is said."""

    reason: str


def first_course(timing: Timing, now: datetime) -> Course:
    """The course of a new reminder, or of one whose time was changed; raises `Invalid` when it is never due."""
    timing.check()
    due_at = timing.next_after(now)
    if due_at is None:
        raise Invalid("at" if timing.rule is None else "rule", "is over" if timing.rule is None else "is never due")
    return Course(ReminderState.PENDING, due_at, timing.next_after(due_at))


def ring(found: Reminder | None, user_id: UUID, occurrence: int | None, now: datetime) -> Ring | Skipped:
    """What a job is to do with a reminder.

    A job that names no occurrence, as another service may enqueue it, means the one that is due: two of them ring once.
    """
    if found is None or found.user_id != user_id:
        return Skipped(NOT_FOUND)
    due_at = found.course.due_at
    if due_at is None:
        return Skipped(OVER[found.course.state])
    if occurrence not in {None, found.occurrence}:
        return Skipped(CHANGED)
    if occurrence is None and due_at > now:
        return Skipped("the reminder is not due yet")
    passed = found.timing.passed(due_at, now)
    # A reminder goes on later than its rule says when a job of it has died: the rule's time is the person's.
    chosen = passed[-1] if passed else min(due_at, found.course.following_at or due_at)
    title, body = f"Reminder: {found.title}", _body(found, len(passed))
    return Ring(found, title, body, len(passed), chosen, _after_ring(found, now))


def snoozed(found: Reminder, until: datetime, now: datetime) -> Course:
    """The course of a reminder that is put off. The snooze is of one occurrence: the next due time ends it.

    Raises `Invalid` for a time that is over or too far, `Conflict` for a reminder that is done.
    """
    if found.course.state in {ReminderState.DONE, ReminderState.CANCELED}:
        raise Conflict(f"the reminder is {found.course.state.value}: give it another time")
    if not now < until <= now + LONGEST_SNOOZE:
        raise Invalid("until", f"is over, or more than {LONGEST_SNOOZE.days} days from now")
    following = found.timing.next_after(found.dealt_with_until(now))
    if following is not None and following <= until:
        return Course(ReminderState.PENDING, following, found.timing.next_after(following))
    return Course(ReminderState.PENDING, until, following, snoozed_until=until)


def done(found: Reminder, now: datetime) -> Course:
    """The course of a reminder whose occurrence is done: its rule goes on with the next due time."""
    if found.is_over:
        return Course(ReminderState.DONE, None)
    due_at = None if found.timing.rule is None else found.timing.next_after(found.dealt_with_until(now))
    if due_at is None:
        return Course(ReminderState.DONE, None)
    return Course(ReminderState.PENDING, due_at, found.timing.next_after(due_at))


def reworded(found: Reminder) -> Course:
    """The course of a reminder of which only the words were changed: one whose job waits is due anew."""
    course = found.course
    if course.state is not ReminderState.QUEUED:
        return course
    return Course(
        ReminderState.PENDING, course.due_at, course.following_at, course.snoozed_until, repeats=course.repeats
    )


def check_rule(text: str) -> str | None:
    """A rule as it is kept; nothing for an empty text, which takes the rule away. Raises `Invalid`."""
    rule = text.strip()
    if not rule:
        return None
    Recurrence.parse(rule)
    return rule.upper()


def local_time(at: datetime, zone: str) -> datetime:
    """A time as the clocks of a zone show it; one without an offset is such a time already.

    Of an hour that the clocks show twice the first showing is meant, so an instant in the second is refused.
    """
    if not EARLIEST_YEAR <= at.year <= LATEST_YEAR:
        raise Invalid("at", f"is not between {EARLIEST_YEAR} and {LATEST_YEAR}")
    shown = at if at.tzinfo is None else at.astimezone(ZoneInfo(check_zone(zone))).replace(tzinfo=None)
    if at.tzinfo is not None and shown.fold:
        raise Invalid("at", f"is the second time that the clocks of {zone} show {shown:%H:%M} that day: only the first")
    return shown.replace(microsecond=0, fold=0)


def _body(found: Reminder, missed: int) -> str:
    body = found.body or found.title
    return f"{body}\n\n{missed} missed" if missed else body


def _after_ring(found: Reminder, now: datetime) -> Course:
    """The next due time of the rule; before it, the reminder rings again until it is done."""
    timing, repeats = found.timing, found.course.repeats
    following = timing.next_after(now)
    if timing.repeat_every_s is not None and repeats < (timing.repeat_at_most or 0):
        again = now + timedelta(seconds=timing.repeat_every_s)
        if following is None or again < following:
            return Course(ReminderState.PENDING, again, following, repeats=repeats + 1)
    if following is None:
        return Course(ReminderState.SENT, None)
    return Course(ReminderState.PENDING, following, timing.next_after(following))
