"""Busy times from calendars: what counts, what does not, and what is refused by name."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from domain.jobs.failures import Invalid
from domain.planning.calendars.availability import CalendarOptions, FoundAvailability
from domain.planning.calendars.availability_calendar import MOST_BYTES, MOST_OCCURRENCES, read_calendar
from domain.planning.calendars.calendar_file import MOST_COMPONENTS
from domain.planning.calendars.calendar_zones import MOST_PARTS
from domain.planning.model import AvailabilityKind

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"
TEN_TO_ELEVEN = ("DTSTART:20260310T100000Z", "DTEND:20260310T110000Z")
CUSTOM_ZONE = (
    "BEGIN:VTIMEZONE\nTZID:Customized Time Zone\n"
    "BEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0530\nTZOFFSETTO:{offset}\nEND:STANDARD\n"
    "END:VTIMEZONE\n"
)


def event(*lines: str, uid: str = "a@example.com") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT", ""])


def calendar(*parts: str) -> str:
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\n{''.join(parts)}END:VCALENDAR\n"


WINTER = "DTSTART:19700101T000000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100"


def zone_part(lines: str) -> str:
    return f"BEGIN:STANDARD\n{lines}\nEND:STANDARD\n"


def in_zone(parts: str) -> str:
    """A calendar with an event in a zone of its own."""
    zone = f"BEGIN:VTIMEZONE\nTZID:Mine\n{parts}END:VTIMEZONE\n"
    return calendar(zone, event("DTSTART;TZID=Mine:20260310T100000", "DURATION:PT1H"))


AS_THE_RFC_SAYS = CalendarOptions()


def read(
    text: str | bytes, options: CalendarOptions = AS_THE_RFC_SAYS, *, encoding: str = "utf-8"
) -> FoundAvailability:
    data = text if isinstance(text, bytes) else text.replace("\n", "\r\n").encode()
    return read_calendar(data, zone=BERLIN, now=NOW, options=options, encoding=encoding)


def spans(found: FoundAvailability) -> list[str]:
    """The busy times, in UTC."""
    assert found.faults.listed == []
    assert all(one.availability.kind is AvailabilityKind.BUSY for one in found.entries)
    return [
        f"{one.availability.span.starts_at:%m-%d %H:%M} {one.availability.span.ends_at:%m-%d %H:%M}"
        for one in found.entries
    ]


def busy(*lines: str) -> list[str]:
    return spans(read(calendar(event(*lines))))


def faults(text: str | bytes) -> list[tuple[int | str, ...]]:
    found = read(text)
    assert found.entries == []
    return [one.path for one in found.faults.listed]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (TEN_TO_ELEVEN, ["03-10 10:00 03-10 11:00"]),
        (("DTSTART;TZID=Europe/Berlin:20260310T100000", "DURATION:PT90M"), ["03-10 09:00 03-10 10:30"]),
        (
            ("DTSTART;TZID=W. Europe Standard Time:20260310T100000", "DTEND;TZID=Europe/Berlin:20260310T110000"),
            ["03-10 09:00 03-10 10:00"],
        ),
        (("DTSTART;TZID=/example.org/Europe/Berlin:20260310T100000", "DURATION:PT1H"), ["03-10 09:00 03-10 10:00"]),
        (("DTSTART:20260310T100000", "DTEND:20260310T110000"), ["03-10 09:00 03-10 10:00"]),
        (("DTSTART;VALUE=DATE:20260310",), ["03-09 23:00 03-10 23:00"]),
        (("DTSTART;VALUE=DATE:20260310", "DTEND;VALUE=DATE:20260312"), ["03-09 23:00 03-11 23:00"]),
        (("DTSTART;VALUE=DATE:20260310", "DTEND;VALUE=DATE:20260310"), ["03-09 23:00 03-10 23:00"]),
        (("DTSTART;VALUE=DATE:20260329",), ["03-28 23:00 03-29 22:00"]),
        (("DTSTART;TZID=Europe/Berlin:20260329T023000", "DURATION:PT1H"), ["03-29 01:30 03-29 02:30"]),
        (("DTSTART;TZID=Europe/Berlin:20260328T120000", "DURATION:P1D"), ["03-28 11:00 03-29 10:00"]),
        (("DTSTART;TZID=Europe/Berlin:20260328T120000", "DURATION:PT24H"), ["03-28 11:00 03-29 11:00"]),
        (("DTSTART;TZID=Europe/Berlin:20260328T120000", "DURATION:P1DT24H"), ["03-28 11:00 03-30 10:00"]),
        (("DTSTART;TZID=Europe/Berlin:20260328T120000", "DURATION:P1W"), ["03-28 11:00 04-04 10:00"]),
        (("DTSTART;TZID=Europe/Berlin:20261024T120000", "DURATION:PT48H"), ["10-24 10:00 10-26 10:00"]),
        (("DTSTART;VALUE=DATE:20260328", "DURATION:P2D"), ["03-27 23:00 03-29 22:00"]),
        (("DTSTART:20260227T100000Z", "DTEND:20260227T110000Z"), []),
        (("DTSTART:20260227T100000Z", "DTEND:20260302T110000Z"), ["02-27 10:00 03-02 11:00"]),
        (("DTSTART:20280101T100000Z", "DTEND:20280101T110000Z"), []),
    ],
)
def test_an_event_is_busy_by_its_own_clocks(lines: Sequence[str], expected: list[str]) -> None:
    assert busy(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            (
                "DTSTART;TZID=Europe/Berlin:20260327T023000",
                "DTEND;TZID=Europe/Berlin:20260327T033000",
                "RRULE:FREQ=DAILY;COUNT=4",
            ),
            [
                "03-27 01:30 03-27 02:30",
                "03-28 01:30 03-28 02:30",
                "03-29 01:30 03-29 02:30",
                "03-30 00:30 03-30 01:30",
            ],
        ),
        (
            (*TEN_TO_ELEVEN, "RRULE:FREQ=WEEKLY;UNTIL=20260325", "EXDATE:20260317T100000Z", "RDATE:20260311T100000Z"),
            ["03-10 10:00 03-10 11:00", "03-11 10:00 03-11 11:00", "03-24 10:00 03-24 11:00"],
        ),
        (("DTSTART;VALUE=DATE:20200310", "RRULE:FREQ=YEARLY"), ["03-09 23:00 03-10 23:00", "03-09 23:00 03-10 23:00"]),
        (
            ("DTSTART;TZID=Europe/Berlin:20260227T100000", "DURATION:PT1H", "RRULE:FREQ=WEEKLY;COUNT=2"),
            ["03-06 09:00 03-06 10:00"],
        ),
    ],
)
def test_what_repeats_is_busy_each_time(lines: Sequence[str], expected: list[str]) -> None:
    """An occurrence at a time that the clocks skip lasts as long as the others."""
    assert busy(*lines) == expected


def test_a_changed_occurrence_is_in_the_place_of_the_first_and_keeps_its_name() -> None:
    series = event(*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;COUNT=3")
    moved = event("RECURRENCE-ID:20260311T100000Z", "DTSTART:20260311T150000Z", "DTEND:20260311T153000Z")
    before, after = read(calendar(series)), read(calendar(series, moved))
    assert spans(after) == ["03-10 10:00 03-10 11:00", "03-11 15:00 03-11 15:30", "03-12 10:00 03-12 11:00"]
    names = [one.external_id for one in before.entries]
    assert names == [f"a@example.com/202603{day}T100000Z" for day in (10, 11, 12)]
    assert [one.external_id for one in after.entries] == names


def test_a_changed_occurrence_without_its_series_is_an_event() -> None:
    assert busy("RECURRENCE-ID:20260311T100000Z", *TEN_TO_ELEVEN) == ["03-10 10:00 03-10 11:00"]


@pytest.mark.parametrize(
    ("start", "changed"),
    [
        ("DTSTART:20260310T100000Z", ";VALUE=DATE:20260311"),
        ("DTSTART:20260310T100000Z", ";TZID=America/New_York:20260311T060000"),
        ("DTSTART;TZID=Europe/Berlin:20260310T100000", ":20260311T100000"),
        ("DTSTART:20260310T100000", ":20260311T090000Z"),
        ("DTSTART;VALUE=DATE:20260310", ":20260311T100000"),
        ("DTSTART;VALUE=DATE:20260310", ":20260310T230000Z"),
        ("DTSTART;VALUE=DATE:20260310", ";TZID=Europe/London:20260311T000000"),
        ("DTSTART;VALUE=DATE:20260310", ";VALUE=DATE:20260311"),
    ],
)
def test_a_change_and_an_exception_name_an_occurrence_in_any_type_and_zone(start: str, changed: str) -> None:
    """Its day or its moment, whatever the series begins with (RFC 5545 sections 3.8.4.4 and 3.8.5.1)."""
    series = (start, "DURATION:P1D", "RRULE:FREQ=DAILY;COUNT=3")
    later = event(f"RECURRENCE-ID{changed}", "DTSTART:20260320T100000Z", "DURATION:PT1H")
    before, after = spans(read(calendar(event(*series)))), spans(read(calendar(event(*series), later)))
    assert after == [before[0], before[2], "03-20 10:00 03-20 11:00"]
    assert busy(*series, f"EXDATE{changed}") == [before[0], before[2]]


def test_a_canceled_occurrence_is_free() -> None:
    series = event(*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;COUNT=2")
    gone = event(
        "RECURRENCE-ID:20260311T100000Z", "DTSTART:20260311T100000Z", "DTEND:20260311T110000Z", "STATUS:CANCELLED"
    )
    found = read(calendar(series, gone))
    assert spans(found) == ["03-10 10:00 03-10 11:00"]
    assert found.ignored == {"canceled": 1}
    assert found.read == 2


@pytest.mark.parametrize(
    ("lines", "options", "ignored"),
    [
        ((*TEN_TO_ELEVEN, "TRANSP:TRANSPARENT"), {}, {"free": 1}),
        ((*TEN_TO_ELEVEN, "TRANSP:TRANSPARENT"), {"free_are_busy": True}, {}),
        ((*TEN_TO_ELEVEN, "STATUS:TENTATIVE", "TRANSP:OPAQUE"), {}, {}),
        ((*TEN_TO_ELEVEN, "STATUS:CANCELLED"), {"free_are_busy": True}, {"canceled": 1}),
        (("DTSTART;VALUE=DATE:20260310",), {}, {}),
        (("DTSTART;VALUE=DATE:20260310",), {"whole_days_are_busy": False}, {"whole day": 1}),
        (("DTSTART;VALUE=DATE:20260310", "TRANSP:OPAQUE"), {"whole_days_are_busy": False}, {}),
        (("DTSTART:20260310T100000Z",), {}, {"without length": 1}),
        (("DTSTART:20260310T100000Z", "DTEND:20260310T100000Z"), {}, {"without length": 1}),
    ],
)
def test_what_keeps_nobody_busy_is_counted(
    lines: Sequence[str], options: dict[str, bool], ignored: dict[str, int]
) -> None:
    found = read(calendar(event(*lines)), CalendarOptions(**options))
    assert found.faults.listed == []
    assert found.ignored == ignored
    assert len(found.entries) == 1 - sum(ignored.values())


def test_a_floating_time_counts_in_the_zone_of_the_import_and_is_counted() -> None:
    found = read(calendar(event("DTSTART:20260310T100000", "DTEND:20260310T110000")))
    assert (spans(found), found.floating) == (["03-10 09:00 03-10 10:00"], 1)


def test_components_that_are_no_events_are_counted() -> None:
    text = calendar("BEGIN:VTODO\nUID:b\nRRULE:FREQ=SECONDLY\nEND:VTODO\n", event(*TEN_TO_ELEVEN))
    assert read(text).ignored == {"VTODO": 1}


def test_two_calendars_in_a_file_are_both_read() -> None:
    first, second = calendar(event(*TEN_TO_ELEVEN)), calendar(event("DTSTART;VALUE=DATE:20260312", uid="b"))
    assert spans(read(first + second)) == ["03-10 10:00 03-10 11:00", "03-11 23:00 03-12 23:00"]


def test_an_event_that_comes_twice_counts_once_and_its_later_revision_wins() -> None:
    found = read(calendar(event(*TEN_TO_ELEVEN)) * 2)
    assert (len(found.entries), found.ignored) == (1, {"repeated": 1})
    later = event("SEQUENCE:2", "DTSTART:20260310T150000Z", "DTEND:20260310T160000Z")
    found = read(calendar(later, event(*TEN_TO_ELEVEN)))
    assert (spans(found), found.ignored) == (["03-10 15:00 03-10 16:00"], {"superseded": 1})


def test_a_zone_that_a_file_defines_is_its_own() -> None:
    """The package would keep it for all files after."""
    lines = ("DTSTART;TZID=Customized Time Zone:20260310T100000", "DURATION:PT1H")
    for offset, expected in (("+0530", "03-10 04:30 03-10 05:30"), ("-0300", "03-10 13:00 03-10 14:00")):
        assert spans(read(calendar(CUSTOM_ZONE.format(offset=offset), event(*lines)))) == [expected]
    assert faults(calendar(event(*lines))) == [(4, "DTSTART")]


def test_a_zone_of_two_hundred_lines_is_read() -> None:
    parts = [
        f"BEGIN:{kind}\nDTSTART:{year}0{month}01T020000\nTZOFFSETFROM:{before}\nTZOFFSETTO:{after}\nEND:{kind}\n"
        for year in range(1990, 2027)
        for kind, month, before, after in (("STANDARD", 9, "+0200", "+0100"), ("DAYLIGHT", 3, "+0100", "+0200"))
    ]
    zone = f"BEGIN:VTIMEZONE\nTZID:Long\n{''.join(parts)}END:VTIMEZONE\n"
    found = read(calendar(zone, event("DTSTART;TZID=Long:20260310T100000", "DURATION:PT1H")))
    assert spans(found) == ["03-10 08:00 03-10 09:00"]


@pytest.mark.parametrize(
    ("lines", "column"),
    [
        (("DTSTART;TZID=Mars/Olympus:20260310T100000", "DURATION:PT1H"), "DTSTART"),
        (("DTSTART;TZID=../../etc/passwd:20260310T100000", "DURATION:PT1H"), "DTSTART"),
        (("DTSTART:20260310T100000Z", "DTEND;TZID=Mars/Olympus:20260310T110000"), "DTEND"),
        (("DTSTART:20260310T100000Z", "DTEND:20260310T090000Z"), "DTEND"),
        (("DTSTART;VALUE=DATE:20260310", "DTEND;VALUE=DATE:20260309"), "DTEND"),
        (("DTSTART;VALUE=DATE:20260310", "DTEND:20260311T090000Z"), "DTEND"),
        (("DTSTART:20260310T100000Z", "DURATION:-PT1H"), "DURATION"),
        (("DTSTART:20260310T100000Z", "DURATION:P999999D"), "DURATION"),
        (("DTSTART:20260310T100000Z", "DURATION:soon"), "DURATION"),
        (("DTSTART:soon",), "DTSTART"),
        (("DTSTART:PT1H",), "DTSTART"),
        (("DTSTART:00010101T000000Z",), "DTSTART"),
        (("DTSTART:99991231T235959Z", "DURATION:P2D"), "DTSTART"),
        (("SUMMARY:without a start",), "DTSTART"),
        ((*TEN_TO_ELEVEN, "DTSTART:20260310T100000Z"), "DTSTART"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;INTERVAL=0"), "RRULE"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=SECONDLY"), "RRULE"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=MINUTELY;COUNT=5"), "RRULE"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;COUNT=100000000"), "RRULE"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=YEARLY;BYDAY=MO,TU,WE;BYHOUR=1,2,3"), "RRULE"),
        ((*TEN_TO_ELEVEN, "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), "RRULE"),
        (("DTSTART:20260310T100000Z", "DTEND:29990310T110000Z", "RRULE:FREQ=DAILY"), "DTEND"),
        (("DTSTART:20260310T100000Z", "DTEND:20290310T110000Z", "RRULE:FREQ=DAILY"), "DTEND"),
        ((*TEN_TO_ELEVEN, "RECURRENCE-ID;RANGE=THISANDFUTURE:20260310T100000Z"), "RECURRENCE-ID"),
        ((*TEN_TO_ELEVEN, "RECURRENCE-ID;range=thisandprior:20260310T100000Z"), "RECURRENCE-ID"),
        ((*TEN_TO_ELEVEN, "RDATE;VALUE=PERIOD:20260311T100000Z/-PT1H"), "RDATE"),
        ((*TEN_TO_ELEVEN, "RDATE;VALUE=PERIOD:20260311T100000Z/20260311T090000Z"), "RDATE"),
        ((*TEN_TO_ELEVEN, "RDATE;VALUE=PERIOD:20260311T100000Z/P401D"), "RDATE"),
        ((*TEN_TO_ELEVEN, "EXRULE:FREQ=DAILY"), "EXRULE"),
        ((*TEN_TO_ELEVEN, "EXDATE:never"), "EXDATE"),
        ((*TEN_TO_ELEVEN, "EXDATE;TZID=Mars/Olympus:20260310T100000"), "EXDATE"),
    ],
)
def test_a_fault_names_the_line_of_the_event_and_the_property(lines: Sequence[str], column: str) -> None:
    text = calendar(event(*TEN_TO_ELEVEN, uid="right"), event(*lines))
    assert faults(text) == [(9, column)]


def test_all_faults_are_found_at_once_and_nothing_is_taken() -> None:
    wrong = [
        event("DTSTART:soon", uid="b"),
        event("SUMMARY:none", uid="c"),
        event("DTSTART;TZID=Mars:20260310T100000", uid="d"),
    ]
    assert faults(calendar(event(*TEN_TO_ELEVEN), *wrong)) == [(9, "DTSTART"), (13, "DTSTART"), (17, "DTSTART")]
    late = [
        event("DTSTART:20260310T100000Z", "DTEND:20260310T090000Z", uid="b"),
        event(*TEN_TO_ELEVEN, "RRULE:FREQ=HOURLY"),
    ]
    assert faults(calendar(*late)) == [(4, "DTEND"), (9, "RRULE")]


def test_the_same_name_for_two_events_is_a_fault() -> None:
    assert faults(calendar(event(*TEN_TO_ELEVEN), event("DTSTART;VALUE=DATE:20260312"))) == [(9, "UID")]
    moved = event("DTSTART:20260311T120000Z", "DURATION:PT1H", uid="a@example.com/20260311T100000Z")
    assert faults(calendar(moved, event(*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;COUNT=3"))) == [(9, "UID")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0, "")),
        ("name,from,until\n", (0, "")),
        (calendar(event(*TEN_TO_ELEVEN))[:-20], (0, "END")),
        (calendar(event(*TEN_TO_ELEVEN)).replace("END:VEVENT\n", ""), (8, "END")),
        (calendar(event(*TEN_TO_ELEVEN, "TRANSP")), (8, "TRANSP")),
        ("END:VCALENDAR\n" + calendar(event(*TEN_TO_ELEVEN)), (1, "END")),
        (calendar("CALSCALE:HEBREW\n", event(*TEN_TO_ELEVEN)), (1, "CALSCALE")),
        (in_zone(zone_part("RRULE:FREQ=SECONDLY\n" + WINTER)), (4 + 9, "DTSTART")),
        (in_zone(zone_part("RRULE:FREQ=YEA\n\n RLY;INTERVAL=0\n" + WINTER)), (4 + 11, "DTSTART")),
        (
            in_zone(zone_part("RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\n" + WINTER) * 1_300),
            (4 + 1_300 * 6 + 3, "DTSTART"),
        ),
        (in_zone(zone_part(WINTER) * (MOST_PARTS + 1)), (4 + 5 * MOST_PARTS + 8, "DTSTART")),
        (in_zone(zone_part(WINTER.replace("+0100", "soon"))), (4 + 8, "DTSTART")),
        (in_zone(zone_part(WINTER.replace("+0100", "+2400"))), (4 + 8, "DTSTART")),
        (in_zone(""), (4 + 3, "DTSTART")),
        (calendar("BEGIN:X\n" * 11), (13, "BEGIN")),
        (calendar("BEGIN:X\nEND:X\n" * MOST_COMPONENTS), (2 * MOST_COMPONENTS + 2, "BEGIN")),
        (calendar(event(*TEN_TO_ELEVEN, uid="a\0b")), (5, "UID")),
        (calendar(event(*TEN_TO_ELEVEN)).encode("utf-16-le"), (0, "")),
        ("BEGIN:VCALENDAR\n" + "X" * MOST_BYTES, (0, "")),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(text: str | bytes, expected: tuple[int, str]) -> None:
    assert faults(text) == [expected]


def test_bytes_of_another_encoding_are_a_fault_where_they_decide_about_a_time() -> None:
    text = calendar(event(*TEN_TO_ELEVEN, uid="Café"))
    assert faults(text.encode("cp1252")) == [(5, "UID")]
    assert len(read(calendar(event(*TEN_TO_ELEVEN, "SUMMARY:Café")).encode("cp1252")).entries) == 1
    assert len(read(text.encode("cp1252"), encoding="windows-1252").entries) == 1
    assert len(read(text.encode("utf-16")).entries) == 1
    with pytest.raises(Invalid, match="encoding"):
        read(text, encoding="rot13")


def test_many_occurrences_are_a_fault_before_they_cost_much() -> None:
    begun = time.process_time()
    events = [event(*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY", uid=str(number)) for number in range(40)]
    found = read(calendar(*events))
    assert found.entries == []
    assert found.read == MOST_OCCURRENCES + 1
    assert [one.path[1] for one in found.faults.listed] == ["RRULE"]
    assert time.process_time() - begun < 10


def test_rules_that_begin_long_ago_are_a_fault_before_they_cost_much() -> None:
    begun = time.process_time()
    old = [
        event("DTSTART:16010101T100000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY", uid=str(number))
        for number in range(2_000)
    ]
    assert set(faults(calendar(*old))) <= {(4 + 6 * number, "RRULE") for number in range(2_000)}
    assert time.process_time() - begun < 10


def test_the_same_file_twice_has_the_same_names() -> None:
    text = calendar(
        event(*TEN_TO_ELEVEN, "RRULE:FREQ=DAILY;COUNT=3"),
        event("DTSTART;VALUE=DATE:20260312", uid="b" * 500),
        "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20260315\nEND:VEVENT\n",
    )
    first, second = (
        read(text),
        read_calendar(text.encode(), zone=BERLIN, now=NOW + timedelta(days=1), options=CalendarOptions()),
    )
    assert first.entries == second.entries
    assert len({one.external_id for one in first.entries}) == 5
    assert max(len(one.external_id) for one in first.entries) <= 200
