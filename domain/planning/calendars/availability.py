"""What an import of availability finds in any file: entries, what was left out, faults; and what would change."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from domain.documents.faults import Faults
from domain.jobs.failures import Invalid
from domain.jobs.scheduling.zones import zone_names
from domain.planning.files.csv_file import MOST_FAULTS
from domain.planning.model import Availability


@dataclass(frozen=True, slots=True)
class AvailabilityEntry:
    """What a file says of one time of one person.

    `collaborator` is what the file calls the person; empty where the import names one person for the whole file.
    `external_id` is the same when the file comes again, so that an entry replaces itself.
    """

    collaborator: str
    external_id: str
    availability: Availability


@dataclass
class FoundAvailability:
    """All that a file says. With any fault nothing of it is taken."""

    entries: list[AvailabilityEntry] = field(default_factory=list)
    read: int = 0
    """Rows of a table, occurrences of a calendar."""
    ignored: Counter[str] = field(default_factory=Counter)
    floating: int = 0
    """Times without a zone, which count in the zone of the import."""
    faults: Faults = field(default_factory=lambda: Faults(MOST_FAULTS))


@dataclass(frozen=True, slots=True)
class CalendarOptions:
    """How events count: those that are marked as free, and whole days of which nothing says that they are busy."""

    free_are_busy: bool = False
    whole_days_are_busy: bool = True
    """Without TRANSP an event is busy (RFC 5545 section 3.8.2.7); some programs leave it out for birthdays."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What an import would change."""

    new: tuple[AvailabilityEntry, ...]
    changed: tuple[AvailabilityEntry, ...]
    unchanged: int


def compare(stored: Mapping[tuple[str, str], Availability], entries: Iterable[AvailabilityEntry]) -> Changes:
    """What is new and what differs from what is stored by person and external id."""
    new, changed, unchanged = [], [], 0
    for entry in entries:
        before = stored.get((entry.collaborator, entry.external_id))
        if before is None:
            new.append(entry)
        elif before == entry.availability:
            unchanged += 1
        else:
            changed.append(entry)
    return Changes(tuple(new), tuple(changed), unchanged)


def known_zone(name: str) -> ZoneInfo:
    """The zone of a name; raises `Invalid` for none."""
    if name not in zone_names():
        raise Invalid("zone", f"{name} is no time zone, such as Europe/Berlin")
    return ZoneInfo(name)


def moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """The moment at which clocks of a zone show a time.

    A time that they skip counts with the offset before it, and of one that they show twice the first is meant
    (RFC 5545 section 3.3.5).
    """
    return clock.replace(tzinfo=zone, fold=0).astimezone(UTC)


def day_begin(day: date, zone: ZoneInfo) -> datetime:
    """The moment at which a day begins in a zone."""
    return moment_of(datetime.combine(day, time()), zone)


def after(day: date) -> date:
    """The next day; raises `ValueError` after the last that there is."""
    if day == date.max:
        raise ValueError("is too far in the future")
    return day + timedelta(days=1)
