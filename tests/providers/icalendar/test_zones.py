"""The time zones of calendar files, with their changes in a table, against those of the package without."""

from copy import deepcopy
from datetime import datetime, timedelta
from random import Random

import icalendar
import pytest
from icalendar.timezone.zoneinfo import ZONEINFO

from providers.icalendar.zones import FileZones
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
            time = near.replace(fold=fold)
            said = [(one.utcoffset(time), one.dst(time), one.tzname(time)) for one in (ours, deepcopy(ours), theirs)]
            assert said == said[:1] * 3, time
