"""The time zones of calendar files: which rules they may have, and their changes against those of the package."""

import time
from copy import deepcopy
from datetime import datetime, timedelta
from random import Random

import icalendar
import pytest
from icalendar.timezone.zoneinfo import ZONEINFO

from providers.icalendar.zones import FileZones
from tests.providers.icalendar.test_availability import CUSTOM_ZONE, calendar, event, read, zone_part
from tests.providers.icalendar.test_shipped_calendars import FILES

LOOKS = 200
BEGIN, YEARS = datetime(1969, 1, 1), 70  # noqa: DTZ001 - what clocks show
NAMES = ("pacific_fiji.ics", "multiple_timezones.ics", "alarm_thunderbird_closed.ics", "america_new_york.ics")
ZONES = [
    component
    for path in FILES
    if path.name in NAMES
    for component in icalendar.Calendar.from_ical(path.read_bytes()).walk("VTIMEZONE")
]


@pytest.mark.parametrize("zone", ZONES, ids=[str(zone["TZID"]) for zone in ZONES])
def test_a_table_says_what_the_package_says(zone: icalendar.Timezone) -> None:
    ours, theirs = FileZones().create_timezone(zone), ZONEINFO().create_timezone(zone)
    chance = Random(1)  # noqa: S311 - the same times each time are wanted
    for _ in range(LOOKS):
        near = BEGIN + timedelta(days=chance.randrange(365 * YEARS), minutes=30 * chance.randrange(48))
        for fold in (0, 1):
            clock = near.replace(fold=fold)
            said = [(one.utcoffset(clock), one.dst(clock), one.tzname(clock)) for one in (ours, deepcopy(ours), theirs)]
            assert said == said[:1] * 3, clock


@pytest.mark.parametrize(
    ("rule", "is_taken"),
    [
        ("FREQ=YEARLY", True),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU", True),
        ("FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=21;UNTIL=20300321", True),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=21,22,23,24,25,26,27;BYDAY=SU", True),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=1,8;BYDAY=SU", False),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=-1,1;BYDAY=SU", False),
        ("FREQ=YEARLY;BYMONTH=10;BYMONTHDAY=1,2", False),
        ("FREQ=YEARLY;BYMONTH=3,10;BYDAY=-1SU", False),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=SU", False),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=1SU,2SU", False),
        ("FREQ=YEARLY;BYMONTH=3;BYDAY=53SU", False),
        ("FREQ=YEARLY;BYMONTH=2", False),
        ("FREQ=YEARLY;BYDAY=SU", False),
        ("FREQ=YEARLY;BYMONTHDAY=1", False),
        ("FREQ=YEARLY;INTERVAL=4", False),
        ("FREQ=MONTHLY", False),
    ],
)
def test_a_rule_of_a_time_zone_names_one_day_of_a_year(rule: str, *, is_taken: bool) -> None:
    begun = time.process_time()
    zone = CUSTOM_ZONE.format(offset="+0530").replace("END:STANDARD", f"RRULE:{rule}\nEND:STANDARD")
    found = read(calendar(zone, event("DTSTART;TZID=Customized Time Zone:20260310T100000", "DURATION:PT1H")))
    assert [one.column for one in found.faults.listed] == ([] if is_taken else ["RRULE"])
    assert len(found.entries) == is_taken
    assert time.process_time() - begun < 1


def test_a_time_zone_of_many_rules_costs_little_for_each_occurrence() -> None:
    begun = time.process_time()
    parts = zone_part("DTSTART:16010101T000000\nTZOFFSETFROM:+0100\nTZOFFSETTO:+0200\nRRULE:FREQ=YEARLY") * 20
    zone = f"BEGIN:VTIMEZONE\nTZID:Mine\n{parts}END:VTIMEZONE\n"
    lines = ("DTSTART;TZID=Mine:20260310T100000", "DURATION:PT1H", "RRULE:FREQ=DAILY")
    found = read(calendar(zone, *(event(*lines, uid=str(number)) for number in range(10))))
    assert (found.faults.listed, len(found.entries)) == ([], 10 * 393)
    assert time.process_time() - begun < 5
