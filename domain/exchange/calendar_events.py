"""One event of an iCalendar file (RFC 5545 section 3.6.1): its times, and what is wrong with it by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from domain.payloads.planning import FIRST_YEAR, LAST_YEAR
from domain.scheduling.recurrence import Frequency, Recurrence

USED = ("DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE", "RECURRENCE-ID", "UID", "STATUS", "TRANSP")
"""The properties that decide about a time. A fault in another one loses nothing."""
SEVERAL = ("RRULE", "RDATE", "EXDATE")
"""Those that an event may have more than once."""


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An event as the package has read it, with the line of the file in which it begins."""

    row: int
    component: Any

    @property
    def uid(self) -> str:
        """Its name, which changes of single occurrences share; empty where it has none."""
        return str(self.component.get("UID", ""))

    @property
    def start(self) -> date:
        """Its day, or its time."""
        start: date = self.component["DTSTART"].dt
        return start

    @property
    def end(self) -> date | None:
        """Its end, where it is said."""
        return None if "DTEND" not in self.component else self.component["DTEND"].dt

    @property
    def changes(self) -> date | None:
        """Which occurrence of another event it changes."""
        return None if "RECURRENCE-ID" not in self.component else self.component["RECURRENCE-ID"].dt

    @property
    def revision(self) -> int:
        """Of two with the same name, the later one counts."""
        revision = self.component.get("SEQUENCE", 0)
        return revision if isinstance(revision, int) else 0

    @property
    def repeats(self) -> bool:
        """Whether it has occurrences, or is one."""
        return any(name in self.component for name in ("RRULE", "RDATE", "RECURRENCE-ID"))

    @property
    def length(self) -> timedelta:
        """How long it lasts by the clocks of its zone; a day without an end is one day."""
        if "DURATION" in self.component:
            duration: timedelta = self.component["DURATION"].dt
            return duration
        start, end = self.start, self.end
        if isinstance(start, datetime):
            return (
                timedelta(0) if not isinstance(end, datetime) else end.replace(tzinfo=None) - start.replace(tzinfo=None)
            )
        length = timedelta(days=1) if end is None else end - start
        # Some programs write the same day as the end of a whole day.
        return length or timedelta(days=1)

    def all_of(self, name: str) -> list[Any]:
        """All values of a property."""
        values = self.component.get(name, [])
        return values if isinstance(values, list) else [values]

    def extra(self) -> list[date]:
        """The days and times that come besides a rule, and those that are left out."""
        return [one.dt for name in ("RDATE", "EXDATE") for value in self.all_of(name) for one in value.dts]

    def rules(self) -> list[str]:
        """Its rules, as the package follows them."""
        return [rule.to_ical().decode() for rule in self.all_of("RRULE")]

    def says_the_same(self, other: "CalendarEvent") -> bool:
        """Whether nothing that decides about a time differs."""
        return all(
            [value.to_ical() for value in self.all_of(name)] == [value.to_ical() for value in other.all_of(name)]
            for name in USED
        )


def wrong_properties(event: CalendarEvent) -> Iterator[tuple[str, str, str]]:
    """Every property that the package would pass over: its name, its value where it tells more, and why."""
    broken = [(name, why) for name, why in event.component.errors if name is None or name in USED]
    if broken:
        yield from ((name or "", "", f"cannot be read: {why}") for name, why in broken)
        return
    if "DTSTART" not in event.component:
        yield "DTSTART", "", "is missing"
    yield from ((name, "", "stands twice") for name in USED if name not in SEVERAL and len(event.all_of(name)) > 1)
    if any(not isinstance(value.dt, timedelta) for value in event.all_of("DURATION")):
        yield "DURATION", "", "is no length of time"
    for name, time, zone in _times(event):
        why = _wrong_time(time, zone)
        if why:
            yield name, zone, why


def _times(event: CalendarEvent) -> Iterator[tuple[str, object, str]]:
    """All days and times, each with the property that has it, and the zone that the property names."""
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"):
        for value in event.all_of(name):
            zone = str(value.params.get("TZID", ""))
            yield from ((name, one.dt, zone) for one in (value.dts if name in SEVERAL else [value]))


def _wrong_time(time: object, zone: str) -> str:
    """Why a day or time is none; empty where it is. A zone that nobody knows leaves a time without one."""
    if not isinstance(time, date):
        return "is no day or time; periods are not taken"
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        return f"is not between the years {FIRST_YEAR} and {LAST_YEAR}"
    unknown = zone and isinstance(time, datetime) and time.tzinfo is None
    return "is in a time zone that nobody knows" if unknown else ""


def steps(rule: Recurrence, start: date, end: datetime) -> int:
    """The most times that a rule passes from its start until a moment."""
    until = end if rule.until is None else min(end.replace(tzinfo=None), rule.until.replace(tzinfo=None))
    days, month_days = len(rule.by_day), len(rule.by_month_day)
    match rule.frequency:
        case Frequency.DAILY:
            a_year = 366
        case Frequency.WEEKLY:
            a_year = 53 * max(1, days)
        case Frequency.MONTHLY:
            a_year = 12 * min(31, max(1, 5 * days, month_days))
        case Frequency.YEARLY:
            a_year = min(366, max(1, len(rule.by_month)) * max(1, 53 * days, 12 * month_days))
    most = max(0, until.year - start.year + 1) * a_year // rule.interval + a_year
    return most if rule.count is None else min(most, rule.count)
