"""Busy times from an iCalendar file (RFC 5545), and everything in it that cannot be taken."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from domain.planning.calendars.availability import AvailabilityEntry, CalendarOptions, FoundAvailability, known_zone
from domain.planning.calendars.calendar_events import CalendarEvent, read_event
from domain.planning.calendars.calendar_file import Component, all_components, read_components
from domain.planning.calendars.calendar_series import EventSeries, Occurrence
from domain.planning.calendars.calendar_times import Zones
from domain.planning.calendars.calendar_zones import FileZones
from domain.planning.files.csv_file import decoded
from domain.planning.model import Availability, AvailabilityKind, Span

BEFORE, AFTER = timedelta(days=1), timedelta(days=400)
"""The window around the present that is imported."""
MOST_BYTES = 5_000_000
MOST_OCCURRENCES = 10_000
MOST_PASSED = 250_000
"""Days that the rules of a file look at, the reading of the rules counted; each takes some microseconds."""
LONGEST_ID = 200
NOT_COUNTED = ("VTODO", "VJOURNAL", "VFREEBUSY", "VAVAILABILITY")


def read_calendar(
    data: bytes, *, zone: str, now: datetime, options: CalendarOptions, encoding: str = "utf-8"
) -> FoundAvailability:
    """The busy times around `now` and all faults by line; raises `Invalid` for a zone or an encoding that is none.

    Days are those of `zone`, and so are floating times, unless the calendar names their zone (X-WR-TIMEZONE). An
    occurrence lasts as long as its event does, in elapsed time.
    """
    found = FoundAvailability()
    reader = _CalendarReader(found, known_zone(zone), Span(now - BEFORE, now + AFTER), options)
    if len(data) > MOST_BYTES:
        found.faults.add((0, ""), f"the file has {len(data)} bytes, {MOST_BYTES} at most")
        return found
    text = decoded(data, encoding, found.faults)
    if text is not None:
        reader.read(read_components(text, found.faults, found.ignored))
    if found.faults:
        found.entries.clear()
    return found


class _TooMuchError(ValueError):
    """The rules of a file cost more days than may be."""


class _CalendarReader:
    """Reads one file."""

    def __init__(self, found: FoundAvailability, zone: ZoneInfo, window: Span, options: CalendarOptions) -> None:
        self._found, self._zone, self._window, self._options = found, zone, window, options
        self._passed = 0
        self._seen: dict[str, Span] = {}

    def read(self, roots: list[Component]) -> None:
        """Add what the components say."""
        events = [] if self._found.faults else list(self._events(roots))
        if self._found.faults:
            return
        for series in list(self._series(events)):
            together = [*([series.first] if series.first else []), *series.changes.values()]
            first, repeats = together[0], len(together) > 1 or any(one.repeats for one in together)
            try:
                occurrences = sorted(
                    series.occurrences(self._window, self._pass, self._found), key=lambda one: one.start.moment
                )
            except _TooMuchError as error:
                self._fault(first, "RRULE", first.uid, str(error))
                return
            for occurrence in occurrences:
                self._read_occurrence(occurrence, repeats=repeats)
                if self._found.read > MOST_OCCURRENCES:
                    why = f"more than {MOST_OCCURRENCES} occurrences until here"
                    self._fault(occurrence.event, "RRULE", first.uid, why)
                    return

    def _pass(self, days: int) -> None:
        self._passed += days
        if self._passed > MOST_PASSED:
            raise _TooMuchError(f"the rules until here pass more than {MOST_PASSED} days")

    def _fault(self, event: CalendarEvent, column: str, value: str, why: str) -> None:
        self._found.faults.add((event.row, column), why, value=value)

    def _events(self, roots: list[Component]) -> Iterator[CalendarEvent]:
        file_zones = FileZones(all_components(roots), self._window.ends_at, self._pass)
        for root in roots:
            scale = root.value("CALSCALE") or "GREGORIAN"
            if scale.upper() != "GREGORIAN":
                self._found.faults.add((root.row, "CALSCALE"), "is not taken; what is: GREGORIAN", value=scale)
            zones = Zones(file_zones.find, self._zone, root.value("X-WR-TIMEZONE"))
            for component in all_components([root]):
                if component.name in NOT_COUNTED:
                    self._found.ignored[component.name] += 1
                elif component.name == "VEVENT":
                    event = read_event(component, zones, self._found.faults, self._pass)
                    if event is not None:
                        yield event

    def _series(self, events: Iterable[CalendarEvent]) -> Iterator[EventSeries]:
        """The events that belong together: one UID, a first event and changes of its occurrences."""
        by_uid: dict[str, list[CalendarEvent]] = defaultdict(list)
        for event in events:
            by_uid[event.uid or f"line {event.row}\n"].append(event)
        for named in by_uid.values():
            first: CalendarEvent | None = None
            for event in named:
                if event.changes is None:
                    first = event if first is None else self._newer(first, event)
            changes: dict[date, CalendarEvent] = {}
            for event in named:
                if event.changes is not None:
                    name = event.changes.name_in(event.changes if first is None else first.start)
                    changes[name] = self._newer(changes[name], event) if name in changes else event
            yield EventSeries(first, changes)

    def _newer(self, one: CalendarEvent, other: CalendarEvent) -> CalendarEvent:
        """Which of two events of the same name counts."""
        if one.revision != other.revision:
            self._found.ignored["superseded"] += 1
        elif one.words == other.words:
            self._found.ignored["repeated"] += 1
        else:
            self._fault(other, "UID", other.uid, f"is that of another event in line {one.row}, which is as new")
        return max(one, other, key=lambda event: event.revision)

    def _read_occurrence(self, occurrence: Occurrence, *, repeats: bool) -> None:
        event, start, length, original = occurrence
        begins, ends = start.moment, length.end_of(start)
        if begins >= self._window.ends_at or max(begins, ends) <= self._window.starts_at:
            return
        self._found.read += 1
        if reason := self._reason_to_ignore(event, has_length=ends > begins):
            self._found.ignored[reason] += 1
            return
        self._found.floating += start.is_floating
        external_id = event.uid or f"{begins.isoformat()}/{ends.isoformat()}"
        if event.uid and repeats:
            external_id = f"{event.uid}/{original:%Y%m%dT%H%M%SZ}"
        self._add(event, external_id, Span(begins, ends))

    def _reason_to_ignore(self, event: CalendarEvent, *, has_length: bool) -> str:
        """Why an occurrence keeps nobody busy; empty where it does."""
        if event.status == "CANCELLED":
            return "canceled"
        if event.shown_as == "TRANSPARENT" and not self._options.free_are_busy:
            return "free"
        if event.start.is_day and not event.shown_as and not self._options.whole_days_are_busy:
            return "whole day"
        return "" if has_length else "without length"

    def _add(self, event: CalendarEvent, external_id: str, span: Span) -> None:
        if len(external_id) > LONGEST_ID:
            external_id = hashlib.sha256(external_id.encode()).hexdigest()
        before = self._seen.setdefault(external_id, span)
        if before != span:
            self._fault(event, "UID", external_id, "names two different times")
        elif before is not span:
            self._found.ignored["repeated"] += 1
        else:
            self._found.entries.append(AvailabilityEntry("", external_id, Availability(span, AvailabilityKind.BUSY)))
