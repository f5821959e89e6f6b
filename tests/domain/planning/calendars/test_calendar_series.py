"""Occurrences of calendars: what names one, in any type and zone, and which of two events counts."""

from zoneinfo import ZoneInfo

import pytest

from domain.planning.calendars.availability import CalendarOptions
from domain.planning.calendars.availability_calendar import read_calendar
from tests.domain.planning.calendars.test_availability_calendar import (
    BERLIN,
    NOW,
    TEN_TO_ELEVEN,
    busy,
    calendar,
    event,
    faults,
    read,
    spans,
)

WEEKLY = ("DTSTART;TZID=Europe/Berlin:20260310T100000", "DURATION:PT1H")
THREE_TUESDAYS = ["03-10 09:00 03-10 10:00", "03-17 09:00 03-17 10:00", "03-24 09:00 03-24 10:00"]


@pytest.mark.parametrize(
    "until", ["20260324", "20260330", "20260324T100000", "20260324T090000Z", "20260324T235959", "20260331T075959Z"]
)
def test_the_end_of_a_rule_counts_in_the_zone_of_the_event(until: str) -> None:
    """A day counts as a whole, whatever the event begins with."""
    assert busy(*WEEKLY, f"RRULE:FREQ=WEEKLY;UNTIL={until}") == THREE_TUESDAYS


@pytest.mark.parametrize(
    ("zone", "until"),
    [
        (BERLIN, "20260312"),
        (BERLIN, "20260312T000000"),
        (BERLIN, "20260311T230000Z"),
        (BERLIN, "20260312T225959Z"),
        ("America/New_York", "20260312T000000Z"),
        ("America/New_York", "20260313T035959Z"),
        ("Asia/Tokyo", "20260311T150000Z"),
        ("Pacific/Auckland", "20260312T000000Z"),
    ],
)
def test_the_end_of_a_rule_of_days_is_a_day(zone: str, until: str) -> None:
    text = calendar(event("DTSTART;VALUE=DATE:20260310", f"RRULE:FREQ=DAILY;UNTIL={until}"))
    found = read_calendar(text.encode(), zone=zone, now=NOW, options=CalendarOptions())
    days = [one.availability.span.starts_at.astimezone(ZoneInfo(zone)) for one in found.entries]
    assert [f"{one:%d %H:%M}" for one in days] == ["10 00:00", "11 00:00", "12 00:00"]


@pytest.mark.parametrize(
    ("exception", "expected"),
    [
        (";VALUE=DATE:20260317", [0, 2]),
        (";TZID=Europe/Berlin:20260317T100000", [0, 2]),
        (";TZID=America/New_York:20260317T050000", [0, 2]),
        (":20260317T090000Z", [0, 2]),
        (":20260317T100000", [0, 2]),
        (";TZID=W. Europe Standard Time:20260310T100000,20260324T100000", [1]),
        (":", [0, 1, 2]),
        (";VALUE=DATE:20200101", [0, 1, 2]),
        (":20290101T000000Z", [0, 1, 2]),
    ],
)
def test_an_exception_names_an_occurrence_in_any_type_and_zone(exception: str, expected: list[int]) -> None:
    """And one before or after all occurrences changes nothing; COUNT counts those that are left out."""
    assert busy(*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3", f"EXDATE{exception}") == [THREE_TUESDAYS[one] for one in expected]


@pytest.mark.parametrize(
    ("more", "added"),
    [
        (";VALUE=DATE:20260312", "03-12 09:00 03-12 10:00"),
        (";TZID=America/New_York:20260312T100000", "03-12 14:00 03-12 15:00"),
        (":20260312T100000", "03-12 09:00 03-12 10:00"),
        (";VALUE=PERIOD:20260312T100000Z/PT30M", "03-12 10:00 03-12 10:30"),
        (";VALUE=PERIOD;TZID=Asia/Tokyo:20260312T100000/20260312T120000", "03-12 01:00 03-12 03:00"),
    ],
)
def test_what_comes_besides_a_rule_may_be_a_day_a_time_or_a_period(more: str, added: str) -> None:
    found = busy(*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3", f"RDATE{more}")
    assert found == [THREE_TUESDAYS[0], added, *THREE_TUESDAYS[1:]]


def test_a_rule_that_an_event_has_twice_counts_twice() -> None:
    rules = ("RRULE:FREQ=WEEKLY;COUNT=2", "RRULE:FREQ=DAILY;INTERVAL=14;COUNT=2")
    assert busy(*WEEKLY, *rules) == THREE_TUESDAYS


def test_a_change_of_all_later_occurrences_moves_them_and_a_later_change_counts_alone() -> None:
    series = event(*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=5")
    later = event(
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20260324T100000",
        "DTSTART;TZID=Europe/Berlin:20260325T110000",
        "DURATION:PT2H",
    )
    alone = event("RECURRENCE-ID;VALUE=DATE:20260331", "DTSTART:20260331T150000Z", "DURATION:PT1H")
    assert spans(read(calendar(series, later, alone))) == [
        *THREE_TUESDAYS[:2],
        "03-25 10:00 03-25 12:00",
        "03-31 15:00 03-31 16:00",
        "04-08 09:00 04-08 11:00",
    ]


def test_a_change_that_names_no_occurrence_is_a_fault_where_those_around_it_are_known() -> None:
    series = event(*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3")
    between = event("RECURRENCE-ID:20260316T090000Z", *TEN_TO_ELEVEN)
    assert faults(calendar(series, between)) == [(10, "RECURRENCE-ID")]
    after = event("RECURRENCE-ID:20260407T080000Z", "DTSTART:20260407T150000Z", "DURATION:PT1H")
    assert spans(read(calendar(series, after))) == [*THREE_TUESDAYS, "04-07 15:00 04-07 16:00"]


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ((*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE;VALUE=DATE:20260311"), 3),
        ((*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE:20260316T090000Z"), 3),
        ((*WEEKLY, "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE:20260317T090000Z,20260317T090001Z"), 2),
    ],
)
def test_an_exception_that_names_no_occurrence_is_counted_and_refuses_nothing(
    lines: tuple[str, ...], count: int
) -> None:
    found = read(calendar(event(*lines)))
    assert (len(spans(found)), found.faults.listed) == (count, [])
    assert found.ignored == {"exception without occurrence": 1}


def test_a_later_revision_of_a_series_leaves_earlier_changes_out() -> None:
    series = event(*WEEKLY, "SEQUENCE:2", "RRULE:FREQ=WEEKLY;COUNT=3", "EXDATE;VALUE=DATE:20260317")
    change = event("RECURRENCE-ID;VALUE=DATE:20260317", "SEQUENCE:{}", "DTSTART:20260318T150000Z", "DURATION:PT1H")
    found = read(calendar(series, change.format(1)))
    assert (spans(found), found.ignored) == ([THREE_TUESDAYS[0], THREE_TUESDAYS[2]], {"superseded": 1})
    assert len(spans(read(calendar(series, change.format(2))))) == 3


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("SEQUENCE:0\nDTSTAMP:20261101T080000Z", "SEQUENCE:0\nDTSTAMP:20261102T080000Z", "15:00"),
        ("SEQUENCE:1\nDTSTAMP:20261101T080000Z", "SEQUENCE:0\nDTSTAMP:20261102T080000Z", "10:00"),
        ("DTSTAMP:20261101T080000Z", "DTSTAMP;TZID=Asia/Tokyo:20261101T165959", "10:00"),
        ("DTSTAMP:20261101T080000Z", "DTSTAMP:yesterday", "10:00"),
        ("SEQUENCE:many", "SEQUENCE:1", "15:00"),
    ],
)
def test_of_two_events_of_a_name_the_newer_counts_by_revision_and_then_by_stamp(
    one: str, other: str, expected: str
) -> None:
    """RFC 5546 section 2.1.5; a revision or a stamp that is none is the oldest, and refuses nothing."""
    first, second = event(*TEN_TO_ELEVEN, one), event("DTSTART:20260310T150000Z", "DURATION:PT1H", other)
    for parts in ((first, second), (second, first)):
        found = read(calendar(*parts))
        assert [one[6:11] for one in spans(found)] == [expected]
        assert found.ignored == {"superseded": 1}


def test_a_floating_time_counts_in_the_zone_that_its_calendar_names() -> None:
    floating = event("DTSTART:20260310T100000", "DURATION:PT1H", "RRULE:FREQ=DAILY;COUNT=2", "EXDATE:20260311T140000Z")
    named = calendar("X-WR-TIMEZONE:America/New_York\n", floating)
    found = read(named)
    assert (spans(found), found.floating) == (["03-10 14:00 03-10 15:00"], 0)
    assert faults(named.replace("America/New_York", "Mars")) == [(5, "DTSTART"), (5, "DTSTART")][:1]
    whole_day = calendar("X-WR-TIMEZONE:America/New_York\n", event("DTSTART;VALUE=DATE:20260310"))
    assert spans(read(whole_day)) == ["03-09 23:00 03-10 23:00"]


def test_what_decides_about_no_time_refuses_nothing() -> None:
    lines = (
        "SUMMARY:Caf\udce9",
        "DESCRIPTION",
        "SEQUENCE:-1",
        "DTSTAMP:soon",
        "X-BAD;;=:1",
        "PRIORITY:high",
        "GEO:a\0b",
    )
    text = calendar(event(*TEN_TO_ELEVEN, *lines))
    found = read(text.encode("utf-8", "surrogateescape"))
    assert (spans(found), found.ignored) == (["03-10 10:00 03-10 11:00"], {"unreadable line": 1})
