"""One event of an iCalendar file (RFC 5545 section 3.6.1): its times, and what is wrong with it by itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from domain.documents.faults import Faults
from domain.jobs.failures import Invalid
from domain.jobs.scheduling.recurrence import Recurrence
from domain.planning.calendars.calendar_file import USED, Component, Property
from domain.planning.calendars.calendar_times import (
    Length,
    When,
    Zones,
    length_until,
    read_length,
    read_list,
    read_time,
    until_in,
)

T = TypeVar("T")

SEVERAL = ("RRULE", "RDATE", "EXDATE")
"""The properties that an event may have more than once."""
LONGEST_EVENT = timedelta(days=36_500)
LONGEST_REPEATED = timedelta(days=400)
"""Of an event that comes again: a series is looked at so far back."""
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """An event, with the line of the file in which it begins."""

    row: int
    uid: str
    """Its name, which changes of single occurrences share; empty where it has none."""
    start: When
    length: Length
    rules: tuple[Recurrence, ...]
    more: tuple[tuple[When, Length | None], ...]
    """What comes besides the rules, a period with its own length."""
    without: tuple[When, ...]
    changes: When | None
    """Which occurrence of another event it changes."""
    changes_later: bool
    """Whether it changes all occurrences after that, too."""
    status: str
    shown_as: str
    revision: tuple[int, datetime]
    """SEQUENCE and DTSTAMP: of two events with the same name the later one counts (RFC 5546 section 2.1.5)."""
    words: tuple[tuple[str, str, str], ...]
    """All that decides about its times, as the file has it."""

    @property
    def repeats(self) -> bool:
        """Whether it has occurrences, or is one."""
        return bool(self.rules or self.more or self.changes)


def read_event(
    component: Component, zones: Zones, faults: Faults, passes: Callable[[int], None]
) -> CalendarEvent | None:
    """The event; None, with all that is wrong with it, for one that cannot be taken.

    `passes` counts what its rules cost to read; a `ValueError` that it raises is a fault.
    """
    reader = _EventReader(component, zones, faults, passes)
    reader.check()
    event = reader.read()
    return None if reader.has_fault else event


class _EventReader:
    """Reads one event, each property by itself, so that the fault of one hides no other's."""

    def __init__(self, component: Component, zones: Zones, faults: Faults, passes: Callable[[int], None]) -> None:
        self._component, self._zones, self._faults, self._passes = component, zones, faults, passes
        self.has_fault = False

    def check(self) -> None:
        """Add what is wrong with the properties together."""
        for name in USED:
            if name not in SEVERAL and len(self._component.all_of(name)) > 1:
                self._fault(name, "", "comes twice")
        if self._component.all_of("EXRULE"):
            self._fault("EXRULE", "", "is not taken: it is not in the standard any more")
        if not self._component.all_of("DTSTART"):
            self._fault("DTSTART", "", "is missing")

    def read(self) -> CalendarEvent | None:
        """The event, where it has a start; what else is wrong is a fault."""
        component, zones = self._component, self._zones
        start = next(self._each("DTSTART", self._time), None)
        if start is None:
            return None
        more = list(self._each("RDATE", self._besides))
        without = list(self._each("EXDATE", lambda one: list(read_list(one, zones))))
        return CalendarEvent(
            component.row,
            component.value("UID"),
            start,
            self._length(start, repeats=bool(more or component.all_of("RRULE"))),
            tuple(replace(one, until=until_in(one.until, start)) for one in self._each("RRULE", self._rule)),
            tuple(one for found in more for one in found),
            tuple(one for found in without for one, _ in found),
            next(self._each("RECURRENCE-ID", self._time), None),
            any(list(self._each("RECURRENCE-ID", _is_for_later))),
            component.value("STATUS").upper(),
            component.value("TRANSP").upper(),
            self._revision(),
            tuple((name, str(one.parameters), one.value) for name in USED for one in component.all_of(name)),
        )

    def _length(self, start: When, *, repeats: bool) -> Length:
        most = LONGEST_REPEATED if repeats else LONGEST_EVENT
        ends = [*self._each("DTEND", lambda one: _bounded(length_until(start, self._time(one)), most))]
        ends += self._each("DURATION", lambda one: _bounded(read_length(one.value), most))
        return next(iter(ends), Length(int(start.is_day), timedelta(0)))

    def _besides(self, written: Property) -> list[tuple[When, Length | None]]:
        return [(one, length and _bounded(length)) for one, length in read_list(written, self._zones)]

    def _revision(self) -> tuple[int, datetime]:
        """What cannot be read is the earliest: it decides about no time."""
        sequence = self._component.value("SEQUENCE")
        is_number = sequence.isascii() and sequence.isdecimal() and len(sequence) <= MOST_DIGITS
        try:
            stamp = max(self._time(one).moment for one in self._component.all_of("DTSTAMP"))
        except ValueError:
            stamp = datetime.min.replace(tzinfo=UTC)
        return int(sequence) if is_number else 0, stamp

    def _rule(self, written: Property) -> Recurrence:
        return Recurrence.parse(written.value, field="RRULE", passes=self._passes)

    def _time(self, written: Property) -> When:
        return read_time(written.value, written, self._zones)

    def _each(self, name: str, read: Callable[[Property], T]) -> Iterator[T]:
        """What can be read of the properties of a name."""
        for written in self._component.all_of(name):
            try:
                yield read(written)
            except Invalid as refusal:
                self._fault(name, written.value, refusal.reason.partition(": ")[2])
            except ValueError as error:
                self._fault(name, written.parameters.get("TZID") or written.value, str(error))

    def _fault(self, column: str, value: str, why: str) -> None:
        self.has_fault = True
        self._faults.add((self._component.row, column), why, value=value or self._component.value("UID"))


def _bounded(length: Length, most: timedelta = LONGEST_REPEATED) -> Length:
    if length.about > most:
        raise ValueError(f"makes it longer than {most.days} days")
    return length


def _is_for_later(written: Property) -> bool:
    reach = written.parameters.get("RANGE", "").upper()
    if reach not in {"", "THISANDFUTURE"}:
        raise ValueError(f"RANGE={reach} is not taken")
    return bool(reach)
