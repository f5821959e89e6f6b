"""Days, times and lengths of an iCalendar file (RFC 5545 section 3.3), and what one names beside another."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from domain.payloads.planning import FIRST_YEAR, LAST_YEAR
from domain.planning.calendars.availability import moment_of
from domain.planning.calendars.calendar_file import Property

IN_UTC = ZoneInfo("UTC")
TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII | re.IGNORECASE)
LENGTH = re.compile(
    r"([+-]?)P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?",
    re.ASCII | re.IGNORECASE,
)
LEAP_SECOND = 60


@dataclass(frozen=True, slots=True)
class Zones:
    """What the names of time zones mean in a calendar, and in which zones its days and its floating times are."""

    find: Callable[[str], ZoneInfo]
    """Raises `ValueError` with the reason for a zone that nobody knows."""
    own: ZoneInfo
    floating: str = ""
    """The calendar's name of the zone of floating times; without one that of the days."""


@dataclass(frozen=True, slots=True)
class When:
    """A day or a time by the clocks of a zone."""

    clock: datetime
    """Without a zone; of a day its midnight."""
    zone: ZoneInfo
    is_day: bool = False
    is_floating: bool = False

    @property
    def moment(self) -> datetime:
        """When it begins, in UTC."""
        return moment_of(self.clock, self.zone)

    def beside(self, first: "When") -> "When":
        """The same in the series that begins with `first`: a floating time is by the clocks of that."""
        return replace(self, zone=first.zone) if self.is_floating else self

    def name_in(self, first: "When") -> date:
        """What it names of the series that begins with `first`: a day, or a moment in UTC.

        A series of times may be named by a day. A series of days may be named by a time: by that day of the clocks
        which the time names, but a time in UTC that is no midnight is one of the zone in which the days are.
        """
        if not first.is_day:
            return self.clock.date() if self.is_day else self.beside(first).moment
        if self.zone.key != IN_UTC.key or self.clock.time() == time():
            return self.clock.date()
        return clock_of(self.moment, first).clock.date()

    def in_series(self, first: "When") -> "When":
        """The occurrence at this day or time of the series that begins with `first`."""
        if first.is_day or self.is_day:
            return replace(first, clock=datetime.combine(self.name_in(first), first.clock.time()))
        return self.beside(first)


def moment_named(name: date, first: When) -> datetime:
    """When the occurrence is that something names; a day names the time of day at which the series begins."""
    if isinstance(name, datetime):
        return name
    return replace(first, clock=datetime.combine(name, first.clock.time())).moment


def clock_of(moment: datetime, like: When) -> When:
    """What the clocks show at a moment, as a day where `like` is one."""
    shown = moment.astimezone(like.zone).replace(tzinfo=None)
    return replace(like, clock=datetime.combine(shown.date(), time()) if like.is_day else shown)


class Length(NamedTuple):
    """How long something lasts: days of the calendar, which summer time makes longer or shorter, and elapsed time."""

    days: int
    rest: timedelta

    @property
    def about(self) -> timedelta:
        """With days of 24 hours."""
        return timedelta(days=self.days) + self.rest

    def end_of(self, start: When) -> datetime:
        """When what begins then ends, in UTC."""
        return moment_of(start.clock + timedelta(days=self.days), start.zone) + self.rest


def read_time(value: str, written: Property, zones: Zones) -> When:
    """A day or a time; raises `ValueError` with the reason."""
    found = TIME.fullmatch(value.strip())
    if found is None:
        raise ValueError("is no day or time")
    year, month, day, hour, minute, second = (int(one) for one in found.groups(default="0")[:6])
    try:
        at = datetime(year, month, day, hour, minute, second - (second == LEAP_SECOND))  # noqa: DTZ001 - by the clocks
    except ValueError:
        raise ValueError("is no day or time") from None
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"is not between the years {FIRST_YEAR} and {LAST_YEAR}")
    if found[4] is None or written.parameters.get("VALUE", "").upper() == "DATE":
        return When(datetime.combine(at.date(), time()), zones.own, is_day=True)
    if found[7]:
        return When(at, IN_UTC)
    named = written.parameters.get("TZID") or zones.floating
    return When(at, zones.find(named)) if named else When(at, zones.own, is_floating=True)


def read_length(value: str) -> Length:
    """A duration; raises `ValueError` for one that is none, or is shorter than nothing."""
    found = LENGTH.fullmatch(value.strip())
    if found is None or not any(found.groups()[1:]):
        raise ValueError("is no length of time")
    weeks, days, hours, minutes, seconds = (int(one) for one in found.groups(default="0")[1:])
    length = Length(7 * weeks + days, timedelta(hours=hours, minutes=minutes, seconds=seconds))
    if found[1] == "-" and (length.days or length.rest):
        raise ValueError("is shorter than nothing")
    return length


def length_until(start: When, end: When) -> Length:
    """How long lasts what begins and ends so: elapsed time, or days. Raises `ValueError` with the reason."""
    if start.is_day != end.is_day:
        raise ValueError("is a day where DTSTART is a time, or a time where it is a day")
    elapsed = end.clock - start.clock if start.is_day else end.beside(start).moment - start.moment
    if elapsed < timedelta(0):
        raise ValueError("is before DTSTART")
    # Some programs write the same day as the end of a whole day.
    return Length(elapsed.days or 1, timedelta(0)) if start.is_day else Length(0, elapsed)


def read_list(written: Property, zones: Zones) -> Iterator[tuple[When, Length | None]]:
    """The days, times and periods of a list, a period with its length; raises `ValueError` with the reason."""
    for value in filter(None, written.value.split(",")):
        begins, _, ends = value.partition("/")
        start = read_time(begins, written, zones)
        if not ends:
            yield start, None
        elif "P" in ends.upper():
            yield start, read_length(ends)
        else:
            yield start, length_until(start, read_time(ends, written, zones))


def until_in(until: datetime | None, first: When) -> datetime | None:
    """The end of a rule, as the series that begins with `first` is counted: of days, the end of the last one."""
    if until is None or not first.is_day:
        return until
    last = When(until.replace(tzinfo=None), first.zone if until.tzinfo is None else IN_UTC).name_in(first)
    return datetime.combine(last, time.max)
