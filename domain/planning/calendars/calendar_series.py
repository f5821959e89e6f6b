"""The occurrences of an event (RFC 5545 section 3.8.5): rules, days besides and left out, and changed occurrences."""

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from operator import itemgetter
from typing import NamedTuple

from domain.jobs.scheduling.recurrence import MARGIN
from domain.planning.calendars.availability import FoundAvailability
from domain.planning.calendars.calendar_events import LONGEST_REPEATED, CalendarEvent
from domain.planning.calendars.calendar_times import Length, When, clock_of, moment_named
from domain.planning.model import Span


class Occurrence(NamedTuple):
    """One time of an event."""

    event: CalendarEvent
    start: When
    length: Length
    original: datetime
    """The moment that names it among the others: when it would be without a change."""


class Known(NamedTuple):
    """The occurrences of a first event without changes, those of its rules since a moment and until another."""

    since: datetime
    until: datetime
    times: Mapping[datetime, tuple[When, Length | None]]
    """By their moments; a period with its own length."""
    by_name: Mapping[date, list[datetime]]
    """Their moments, by these and by the days of their clocks."""

    def is_around(self, moment: datetime) -> bool:
        """Whether occurrences before and after a moment are known, and so each that is then."""
        return max(self.since, min(self.times)) < moment < min(self.until, max(self.times))


@dataclass(frozen=True, slots=True)
class EventSeries:
    """The events of one UID: the first, if the file has it, and changes of its occurrences by what they name."""

    first: CalendarEvent | None
    changes: Mapping[date, CalendarEvent]

    def occurrences(
        self, window: Span, passes: Callable[[int], None], found: FoundAvailability
    ) -> Iterator[Occurrence]:
        """All that may be in a window; others may be among them. Raises what `passes` raises.

        Where the occurrences around a name are known, a change that names none is a fault, and an exception that names
        none is counted: nothing is lost. A change is superseded when a later revision of the first event leaves its
        occurrence out.
        """
        if self.first is None:
            yield from self._without_first(found)
            return
        first = self.first
        reaches = any(one.changes_later for one in self.changes.values())
        before = 2 * LONGEST_REPEATED if reaches else first.length.about + MARGIN
        known = _known(first, Span(window.starts_at - before, window.ends_at), passes)
        left_out = set[datetime]()
        for name in (one.name_in(first.start) for one in first.without):
            left_out.update(known.by_name.get(name, ()))
            if name not in known.by_name and known.is_around(moment_named(name, first.start)):
                found.ignored["exception without occurrence"] += 1
        changed = {one.original: one for one in self._changes(first, known, left_out, found)}
        yield from changed.values()
        later = sorted(
            ((one.original, one.event) for one in changed.values() if one.event.changes_later), key=itemgetter(0)
        )
        for moment, (start, length) in known.times.items():
            if moment not in changed and moment not in left_out:
                yield _as_changed_before(later, Occurrence(first, start, length or first.length, moment))

    def _changes(
        self, first: CalendarEvent, known: Known, left_out: Container[datetime], found: FoundAvailability
    ) -> Iterator[Occurrence]:
        """The changes that count."""
        for name, change in self.changes.items():
            original = next(iter(known.by_name.get(name, ())), moment_named(name, first.start))
            is_missing = original not in known.times and known.since < original < known.until
            if (is_missing or original in left_out) and change.revision[0] < first.revision[0]:
                found.ignored["superseded"] += 1
                continue
            if is_missing and known.is_around(original):
                found.faults.add(
                    (change.row, "RECURRENCE-ID"), "names no occurrence of the event", value=name.isoformat()
                )
            yield Occurrence(change, change.start, change.length, original)

    def _without_first(self, found: FoundAvailability) -> Iterator[Occurrence]:
        for name, change in self.changes.items():
            if change.changes_later:
                why = "changes later occurrences of an event that the file does not have"
                found.faults.add((change.row, "RECURRENCE-ID"), why, value="RANGE=THISANDFUTURE")
            yield Occurrence(change, change.start, change.length, moment_named(name, change.start))


def _as_changed_before(later: Sequence[tuple[datetime, CalendarEvent]], occurrence: Occurrence) -> Occurrence:
    """The occurrence, as the last change before it that reaches to later ones has left it (section 3.2.13)."""
    number = bisect(later, occurrence.original, key=itemgetter(0))
    if not number:
        return occurrence
    since, change = later[number - 1]
    moved = change.start.clock - clock_of(since, change.start).clock
    shown = clock_of(occurrence.original, change.start)
    return Occurrence(change, replace(shown, clock=shown.clock + moved), change.length, occurrence.original)


def _known(first: CalendarEvent, span: Span, passes: Callable[[int], None]) -> Known:
    begin, since, until = first.start, span.starts_at, span.ends_at
    besides = ((one.in_series(begin), length) for one, length in first.more)
    times: dict[datetime, tuple[When, Length | None]] = {one.moment: (one, length) for one, length in besides}
    times.setdefault(begin.moment, (begin, None))
    for rule in first.rules:
        found = rule.due_times(start=begin.clock, zone=begin.zone, after=since, until=until, passes=passes)
        for due in found:
            times.setdefault(due, (clock_of(due, begin), None))
    by_name = defaultdict[date, list[datetime]](list)
    for moment, (start, _) in times.items():
        for name in (moment, start.clock.date()):
            by_name[name].append(moment)
    return Known(since, until, times, dict(by_name))
