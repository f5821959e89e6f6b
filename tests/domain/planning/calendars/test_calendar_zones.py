"""The time zones of calendar files: by which names they are found, and what a file defines, against the package."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import icalendar
import pytest
from icalendar.timezone.zoneinfo import ZONEINFO

from domain.documents.faults import Faults
from domain.jobs.scheduling.recurrence import uncounted
from domain.planning.calendars.calendar_file import all_components, read_components
from domain.planning.calendars.calendar_zones import FileZones
from tests.domain.planning.calendars.test_availability_calendar import CUSTOM_ZONE, calendar, event, read, spans
from tests.domain.planning.calendars.test_shipped_calendars import FILES

LOOKS = 200
BEGIN, UNTIL = datetime(1970, 1, 2, tzinfo=UTC), datetime(2027, 4, 1, tzinfo=UTC)
NAMES = ("pacific_fiji.ics", "multiple_timezones.ics", "alarm_thunderbird_closed.ics", "america_new_york.ics")
ZONES = [
    component
    for path in FILES
    if path.name in NAMES
    for component in icalendar.Calendar.from_ical(path.read_bytes()).walk("VTIMEZONE")
]


def zones_of(text: str) -> FileZones:
    return FileZones(all_components(read_components(text, Faults(), Counter())), UNTIL, uncounted)


@pytest.mark.parametrize("zone", ZONES, ids=[str(zone["TZID"]) for zone in ZONES])
def test_a_zone_of_a_file_has_the_clocks_of_the_package(zone: icalendar.Timezone) -> None:
    ours = zones_of(zone.to_ical().decode().replace(f"TZID:{zone['TZID']}", "TZID:Mine")).find("Mine")
    theirs = ZONEINFO().create_timezone(zone)
    chance = Random(1)  # noqa: S311 - the same times each time are wanted
    for _ in range(LOOKS):
        clock = (BEGIN + timedelta(minutes=30 * chance.randrange(48 * (UNTIL - BEGIN).days))).replace(tzinfo=None)
        for one in (clock, clock.replace(fold=1)):
            skipped = ours.utcoffset(clock) != ours.utcoffset(clock.replace(fold=1))
            assert skipped or ours.utcoffset(one) == theirs.utcoffset(one), one


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("/example.org/20260101/America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("w. europe standard time", "Europe/Berlin"),
        ("Pacific Standard Time", "America/Los_Angeles"),
        ("US/Eastern", "US/Eastern"),
        ("CET", "CET"),
        ("Etc/GMT+8", "Etc/GMT+8"),
    ],
)
def test_a_zone_of_the_world_or_of_windows_is_found_by_its_name(name: str, zone: str) -> None:
    assert zones_of("").find(name) == ZoneInfo(zone)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "", "Berlin", "localtime/x"])
def test_a_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="nobody knows"):
        zones_of("").find(name)


@pytest.mark.parametrize(
    ("rule", "is_taken"),
    [
        ("FREQ=YEARLY", True),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", True),
        ("FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=21;UNTIL=20300321", True),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=21,22,23,24,25,26,27;BYDAY=SU", True),
        ("FREQ=YEARLY;BYDAY=53SU", True),
        ("FREQ=MONTHLY", False),
        ("FREQ=DAILY", False),
        ("FREQ=YEARLY;BYWEEKNO=20", False),
    ],
)
def test_a_rule_of_a_time_zone_is_yearly(rule: str, *, is_taken: bool) -> None:
    zone = CUSTOM_ZONE.format(offset="+0530").replace("END:STANDARD", f"RRULE:{rule}\nEND:STANDARD")
    found = read(calendar(zone, event("DTSTART;TZID=Customized Time Zone:20260310T100000", "DURATION:PT1H")))
    assert [one.path[1] for one in found.faults.listed] == ([] if is_taken else ["DTSTART"])
    assert len(found.entries) == is_taken


def test_a_zone_that_no_time_names_refuses_nothing() -> None:
    zone = CUSTOM_ZONE.format(offset="soon")
    assert spans(read(calendar(zone, event("DTSTART:20260310T100000Z", "DURATION:PT1H")))) == [
        "03-10 10:00 03-10 11:00"
    ]


def test_the_end_of_a_summer_time_that_was_given_up_holds() -> None:
    """A rule with UNTIL: the clocks stay as its last change has left them."""
    part = "BEGIN:{0}\nDTSTART:{1}\nTZOFFSETFROM:{2}\nTZOFFSETTO:{3}\nRRULE:FREQ=YEARLY;BYDAY=-1SU;{4}\nEND:{0}\n"
    summer = part.format("DAYLIGHT", "20000326T020000", "+0100", "+0200", "BYMONTH=3;UNTIL=20240331T010000Z")
    winter = part.format("STANDARD", "20001029T030000", "+0200", "+0100", "BYMONTH=10;UNTIL=20231029T010000Z")
    zone = zones_of(f"BEGIN:VTIMEZONE\nTZID:Mine\n{summer}{winter}END:VTIMEZONE\n").find("Mine")
    days = ("2024-01-10", "2024-07-10", "2026-01-10")
    offsets = [datetime.fromisoformat(day).replace(tzinfo=zone).utcoffset() for day in days]
    assert offsets == [timedelta(hours=hours) for hours in (1, 2, 2)]
