"""When schedules are due: no due time is skipped or run twice, whatever the clocks of a zone do."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.jobs.scheduling.cron import MOST_AT_ONCE, ON_TIME, DueTimes, Missed, Timetable, next_after, plan

BERLIN = "Europe/Berlin"
ZONES = st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"])
EXPRESSIONS = st.sampled_from(
    [
        "* * * * *",
        "*/15 * * * *",
        "30 2 * * *",
        "0,30 1-3 * * *",
        "0 * * * *",
        "5 4 * * sun",
        "0 0 1 * *",
        "59 23 L * *",
    ]
)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone is given beside
LOOKS = st.lists(st.timedeltas(timedelta(0), timedelta(hours=7)), min_size=1, max_size=12)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def first_after(table: Timetable, moment: datetime) -> datetime:
    found = next_after(table, moment)
    assert found is not None
    return found


def some_after(expression: str, zone: str, moment: str, number: int) -> Sequence[datetime]:
    table, times = Timetable(expression, zone, Missed.RUN_ALL), [at(moment)]
    for _ in range(number):
        times.append(first_after(table, times[-1]))
    return times[1:]


def run(table: Timetable, start: datetime, looks: Sequence[timedelta]) -> tuple[list[datetime], datetime, datetime]:
    """All due times that a relay runs which looks now and then; with the last look, and what is due next."""
    due: list[datetime] = []
    following, now = first_after(table, start), start
    for wait in looks:
        now += wait
        planned = plan(table, following, now)
        due += planned.due
        assert planned.next_run_at is not None
        assert planned.next_run_at >= following, "never backwards"
        following = planned.next_run_at
    return due, following, now


@given(EXPRESSIONS, ZONES, MOMENTS)
def test_the_next_time_lies_ahead_and_nothing_lies_between(expression: str, zone: str, moment: datetime) -> None:
    table = Timetable(expression, zone, Missed.SKIP)
    found = first_after(table, moment)
    assert found > moment
    between = moment + (found - moment) / 2
    assert first_after(table, between) == found


@given(EXPRESSIONS, ZONES, MOMENTS, LOOKS)
def test_run_all_runs_every_due_time_once(
    expression: str, zone: str, start: datetime, looks: Sequence[timedelta]
) -> None:
    table = Timetable(expression, zone, Missed.RUN_ALL)
    due, following, now = run(table, start, looks)
    assert len(set(due)) == len(due)
    expected: list[datetime] = []
    moment = first_after(table, start)
    while moment <= now and len(expected) < len(due):
        expected.append(moment)
        moment = first_after(table, moment)
    assert due == expected
    assert following == moment, "what is not run yet is the next to be run"


@given(EXPRESSIONS, ZONES, MOMENTS, LOOKS, st.sampled_from([Missed.SKIP, Missed.RUN_ONCE]))
def test_nothing_runs_twice_and_what_is_next_lies_ahead(
    expression: str, zone: str, start: datetime, looks: Sequence[timedelta], missed: Missed
) -> None:
    due, following, now = run(Timetable(expression, zone, missed), start, looks)
    assert all(earlier < later for earlier, later in pairwise(due))
    assert following > now


@given(EXPRESSIONS, ZONES, MOMENTS, st.timedeltas(timedelta(0), timedelta(days=3)))
def test_one_look_runs_what_the_policy_says(expression: str, zone: str, start: datetime, late: timedelta) -> None:
    first = first_after(Timetable(expression, zone, Missed.SKIP), start)
    now = first + late
    once = plan(Timetable(expression, zone, Missed.RUN_ONCE), first, now)
    assert once.due == (first,)
    skipped = plan(Timetable(expression, zone, Missed.SKIP), first, now)
    assert all(now - one <= ON_TIME for one in skipped.due)
    assert len(skipped.due) <= 1
    assert late >= ON_TIME or skipped.due == (first,)


def test_what_was_missed_for_long_is_caught_up_in_parts() -> None:
    table, first = Timetable("* * * * *", "UTC", Missed.RUN_ALL), at("2026-01-01T00:00:00+00:00")
    planned = plan(table, first, first + timedelta(days=1))
    assert len(planned.due) == MOST_AT_ONCE
    assert planned.next_run_at == first + timedelta(minutes=MOST_AT_ONCE)


def test_before_its_time_nothing_is_due() -> None:
    first = at("2026-01-01T00:00:00+00:00")
    assert plan(Timetable("0 0 * * *", "UTC", Missed.RUN_ALL), first, first - timedelta(seconds=1)) == DueTimes(
        (), first
    )


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        # The clocks go from 2 to 3: what would be at 02:30 is due right after the gap, and once.
        ("30 2 * * *", "2026-03-28T12:00+01:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
        ("0,30 2 * * *", "2026-03-29T00:00+01:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
        ("0 2,3 * * *", "2026-03-29T00:00+01:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
        ("*/30 * * * *", "2026-03-29T01:00+01:00", ["2026-03-29T01:30+01:00", "2026-03-29T03:00+02:00"]),
        # The clocks go from 3 back to 2: a fixed time is due the first time it is shown.
        ("30 2 * * *", "2026-10-24T12:00+02:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("30 2 * * *", "2026-10-25T02:10+01:00", ["2026-10-26T02:30+01:00"]),
        (
            "*/30 * * * *",
            "2026-10-25T02:00+02:00",
            ["2026-10-25T02:30+02:00", "2026-10-25T02:00+01:00", "2026-10-25T02:30+01:00", "2026-10-25T03:00+01:00"],
        ),
    ],
)
def test_the_clocks_change_in_berlin(expression: str, start: str, expected: list[str]) -> None:
    assert some_after(expression, BERLIN, start, len(expected)) == [at(text) for text in expected]


def test_a_time_of_day_keeps_to_the_zones_clocks() -> None:
    winter, summer = some_after("0 9 * * *", BERLIN, "2026-03-27T12:00+00:00", 2)
    assert (winter.hour, summer.hour) == (8, 7)


@pytest.mark.parametrize(
    ("expression", "zone", "field"),
    [
        ("* * * *", "UTC", "cron"),
        ("* * * * * *", "UTC", "cron"),
        ("61 * * * *", "UTC", "cron"),
        ("@daily", "UTC", "cron"),
        ("0 0 30 2 *", "UTC", "cron"),
        ("* * * * *", "Mars/Olympus", "zone"),
        ("* * * * *", "../etc/passwd", "zone"),
        ("* * * * *", "", "zone"),
    ],
)
def test_what_is_no_timetable_is_refused_by_its_field(expression: str, zone: str, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        next_after(Timetable(expression, zone, Missed.SKIP), datetime(2026, 1, 1, tzinfo=UTC))
    assert refused.value.field == field
