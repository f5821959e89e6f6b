"""Every calendar that the two packages ship for their own tests: read, or refused by name, and none takes long."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import icalendar
import recurring_ical_events

from domain.planning.calendars.availability import CalendarOptions
from domain.planning.calendars.availability_calendar import read_calendar

FOLDERS = [Path(str(package.__file__)).parent for package in (icalendar, recurring_ical_events)]
FILES = sorted(path for folder in FOLDERS for path in folder.rglob("*.ics"))
MUTANTS = 300
PRESENT = datetime(2019, 6, 1, tzinfo=UTC)
"""Most of the files are of this year, and an import looks around the present."""


def test_the_packages_ship_their_calendars() -> None:
    assert len(FILES) >= 258


def test_each_calendar_is_read_or_refused_by_name() -> None:
    read, refused = 0, 0
    for path in FILES:
        found = read_calendar(path.read_bytes(), zone="Europe/Berlin", now=PRESENT, options=CalendarOptions())
        assert all(fault.reason for fault in found.faults.listed), path.name
        assert not (found.faults and not found.faults.listed)
        read, refused = read + (not found.faults), refused + bool(found.faults)
    assert read > 150
    assert read + refused == len(FILES)


def test_a_damaged_calendar_is_read_or_refused_by_name() -> None:
    """Lines that are lost, foreign, cut off, or put together from others: no fault is one of the code."""
    chance = Random(1)  # noqa: S311 - the same damage each time is wanted
    contents = [content.splitlines() for path in FILES if len(content := path.read_bytes()) < 5_000]
    foreign = [line for lines in contents for line in lines]
    for _ in range(MUTANTS):
        lines = list(chance.choice(contents))
        for _ in range(chance.randint(1, 3)):
            index, other = chance.randrange(len(lines)), chance.choice(foreign)
            name, value = lines[index].partition(b":")[0], other.partition(b":")[2]
            kept = lines[index][: chance.randrange(len(lines[index]) + 1)]
            lines[index : index + 1] = chance.choice([[lines[index], other], [kept], [name + b":" + value], [other]])
        data = b"\r\n".join(lines)
        found = read_calendar(data, zone="Europe/Berlin", now=PRESENT, options=CalendarOptions())
        assert all(fault.reason for fault in found.faults.listed)
