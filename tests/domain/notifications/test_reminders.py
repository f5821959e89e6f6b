"""How a reminder goes on: rung, put off, done, rung again until it is done."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from domain.jobs.failures import Conflict, Invalid
from domain.notifications.reminders import (
    CHANGED,
    NOT_FOUND,
    Course,
    Reminder,
    ReminderState,
    Ring,
    Skipped,
    Timing,
    done,
    first_course,
    local_time,
    reworded,
    ring,
    snoozed,
)

OWNER, OTHER = UUID(int=1), UUID(int=2)
NINE = datetime(2026, 11, 23, 9, tzinfo=UTC)
DAY, HOUR, MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
DAILY, ONCE = Timing(NINE.replace(tzinfo=None), "UTC", "FREQ=DAILY"), Timing(NINE.replace(tzinfo=None), "UTC")


def reminder(timing: Timing = DAILY, *, state: ReminderState = ReminderState.QUEUED, due: datetime = NINE) -> Reminder:
    """A reminder whose first due time has come."""
    due_at = due if state in {ReminderState.PENDING, ReminderState.QUEUED} else None
    course = Course(state, due_at, None if due_at is None else timing.next_after(due_at))
    return Reminder(UUID(int=9), UUID(int=8), OWNER, "Water", None, timing, course, 3, None, NINE - DAY)


def rung(found: Reminder, now: datetime) -> Reminder:
    """The same after it has rung."""
    decided = ring(found, OWNER, found.occurrence, now)
    assert isinstance(decided, Ring)
    return replace(found, course=decided.course, occurrence=found.occurrence + 1, sent_at=now)


def test_a_reminder_says_its_title_and_its_body_or_the_title_again() -> None:
    plain = ring(reminder(), OWNER, 3, NINE)
    worded = ring(replace(reminder(), body="All of them"), OWNER, None, NINE)
    assert isinstance(plain, Ring)
    assert isinstance(worded, Ring)
    assert (plain.title, plain.body, worded.body) == ("Reminder: Water", "Water", "All of them")


@pytest.mark.parametrize(
    ("found", "user", "occurrence", "reason"),
    [
        (None, OWNER, 3, NOT_FOUND),
        (reminder(), OTHER, 3, NOT_FOUND),
        (reminder(), OWNER, 2, CHANGED),
        (reminder(state=ReminderState.DONE), OWNER, 3, "done"),
        (reminder(state=ReminderState.CANCELED), OWNER, 3, "canceled"),
        (reminder(ONCE, state=ReminderState.SENT), OWNER, None, "sent before"),
        (reminder(state=ReminderState.PENDING, due=NINE + MINUTE), OWNER, None, "not due yet"),
    ],
)
def test_what_must_not_ring_says_why(found: Reminder | None, user: UUID, occurrence: int | None, reason: str) -> None:
    decided = ring(found, user, occurrence, NINE)
    assert isinstance(decided, Skipped)
    assert reason in decided.reason


def test_missed_due_times_come_once_with_their_number() -> None:
    decided = ring(reminder(), OWNER, 3, NINE + 3 * DAY + HOUR)
    assert isinstance(decided, Ring)
    assert (decided.missed, decided.body) == (3, "Water\n\n3 missed")
    assert decided.course.due_at == NINE + 4 * DAY
    last = replace(DAILY, rule="FREQ=DAILY;COUNT=3")
    over = ring(reminder(last), OWNER, 3, NINE + 9 * DAY)
    assert isinstance(over, Ring)
    assert (over.missed, over.course.state) == (2, ReminderState.SENT), (
        "a count is of due times, missed ones among them"
    )


@pytest.mark.parametrize(
    ("course", "now", "chosen"),
    [
        (Course(ReminderState.QUEUED, NINE, NINE + DAY), NINE + MINUTE, NINE),
        (Course(ReminderState.QUEUED, NINE, NINE + DAY), NINE + 2 * DAY + MINUTE, NINE + 2 * DAY),
        # Its job had died, and it goes on an hour later.
        (Course(ReminderState.QUEUED, NINE + 14 * HOUR, NINE), NINE + 14 * HOUR, NINE),
        (Course(ReminderState.QUEUED, NINE + HOUR, NINE + DAY, NINE + HOUR), NINE + 2 * HOUR, NINE + HOUR),
    ],
    ids=["in-time", "the-last-missed", "after-a-dead-job", "snoozed"],
)
def test_the_time_that_its_person_has_chosen_is_known(course: Course, now: datetime, chosen: datetime) -> None:
    decided = ring(replace(reminder(), course=course), OWNER, 3, now)
    assert isinstance(decided, Ring)
    assert decided.due_at == chosen


def test_a_snooze_is_of_one_occurrence_and_the_series_goes_on() -> None:
    late = snoozed(rung(reminder(), NINE), NINE + HOUR, NINE + MINUTE)
    assert (late.due_at, late.following_at, late.snoozed_until) == (NINE + HOUR, NINE + DAY, NINE + HOUR)
    again = rung(replace(reminder(), course=late, sent_at=NINE), NINE + HOUR)
    assert again.course.due_at == NINE + DAY


def test_a_new_due_time_ends_a_snooze() -> None:
    course = snoozed(rung(reminder(), NINE), NINE + 2 * DAY, NINE + MINUTE)
    assert (course.due_at, course.snoozed_until) == (NINE + DAY, None)


def test_one_that_has_not_rung_yet_is_put_off() -> None:
    waiting = reminder(state=ReminderState.PENDING)
    assert snoozed(waiting, NINE + HOUR, NINE - HOUR).due_at == NINE + HOUR
    assert snoozed(reminder(ONCE, state=ReminderState.SENT), NINE + 9 * DAY, NINE + HOUR).due_at == NINE + 9 * DAY


@pytest.mark.parametrize("until", [NINE - MINUTE, NINE, NINE + 367 * DAY])
def test_a_snooze_into_the_past_or_for_ever_is_refused(until: datetime) -> None:
    with pytest.raises(Invalid) as refused:
        snoozed(reminder(), until, NINE)
    assert refused.value.field == "until"


def test_a_done_reminder_does_not_ring_and_its_series_goes_on() -> None:
    assert done(reminder(ONCE), NINE).state is ReminderState.DONE
    assert done(reminder(), NINE + MINUTE).due_at == NINE + DAY
    assert done(reminder(state=ReminderState.PENDING), NINE - HOUR).due_at == NINE + DAY, "the first is done in advance"
    after_ring = rung(reminder(), NINE)
    assert done(after_ring, NINE + MINUTE).due_at == NINE + DAY
    assert done(replace(after_ring, course=done(after_ring, NINE + MINUTE)), NINE + HOUR).due_at == NINE + DAY
    with pytest.raises(Conflict):
        snoozed(reminder(ONCE, state=ReminderState.DONE), NINE + HOUR, NINE)


def test_a_reminder_rings_again_until_it_is_done_and_never_without_end() -> None:
    found = reminder(replace(ONCE, repeat_every_s=600, repeat_at_most=3))
    now, times = NINE, []
    while found.course.due_at is not None:
        now = max(now, found.course.due_at)
        times.append(now - NINE)
        found = rung(found, now)
    assert times == [10 * number * MINUTE for number in range(4)]
    assert done(rung(reminder(found.timing), NINE), NINE + MINUTE).state is ReminderState.DONE


def test_the_next_due_time_comes_before_a_repeat_and_begins_anew() -> None:
    found = reminder(replace(DAILY, repeat_every_s=10 * 3600, repeat_at_most=9))
    times = []
    for _ in range(4):
        assert found.course.due_at is not None
        times.append(found.course.due_at - NINE)
        found = rung(found, found.course.due_at)
    assert times == [timedelta(0), 10 * HOUR, 20 * HOUR, DAY]
    assert found.course.repeats == 1


def test_new_words_are_said_by_a_reminder_whose_job_waits() -> None:
    course = reworded(reminder())
    assert (course.state, course.due_at) == (ReminderState.PENDING, NINE)
    sent = reminder(ONCE, state=ReminderState.SENT)
    assert reworded(sent) == sent.course


@pytest.mark.parametrize(
    ("timing", "field"),
    [
        (replace(ONCE, zone="Europe/Nowhere"), "zone"),
        (replace(ONCE, starts_local=NINE.replace(tzinfo=None) - DAY), "at"),
        (replace(DAILY, rule="FREQ=SECONDLY"), "rule"),
        (replace(DAILY, rule="FREQ=DAILY;INTERVAL=0"), "rule"),
        (replace(DAILY, rule="FREQ=DAILY;UNTIL=20261101"), "rule"),
        (replace(DAILY, rule="FREQ=YEARLY;BYMONTH=11;BYMONTHDAY=31"), "rule"),
        (replace(DAILY, rule="FREQ=DAILY;COUNT=1000000000"), "rule"),
        (replace(DAILY, repeat_every_s=60), "repeat_at_most"),
    ],
)
def test_a_time_that_cannot_be_is_refused_by_its_field(timing: Timing, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        first_course(timing, NINE)
    assert refused.value.field == field


def test_a_time_with_an_offset_is_kept_as_the_clock_of_the_zone_shows_it() -> None:
    assert local_time(datetime(2026, 7, 1, 7, tzinfo=UTC), "Europe/Berlin").isoformat() == "2026-07-01T09:00:00"
    assert local_time(datetime.fromisoformat("2026-07-01T09:00"), "Europe/Berlin").hour == 9
    for year in (1, 9999):
        with pytest.raises(Invalid):
            local_time(datetime(year, 1, 1, tzinfo=UTC), "Asia/Tokyo")
