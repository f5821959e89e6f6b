"""Busy times from an iCalendar file (RFC 5545), and everything in it that cannot be taken.

The packages come with the extra `exports`: load this module on demand. They are fenced in, because they swap an end
before its start, make a time of an unknown zone one without a zone, and follow a rule without end.
"""

import hashlib
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events
from icalendar.error import GloballyUniqueTZIDGuessed
from icalendar.timezone import tzp

from domain.exchange.availability import (
    AvailabilityEntry,
    CalendarOptions,
    FoundAvailability,
    day_begin,
    known_zone,
    moment_of,
)
from domain.exchange.calendar_events import CalendarEvent, steps, wrong_properties
from domain.exchange.calendar_walk import MOST_BYTES, MOST_STEPS, CalendarShape, walk_calendar
from domain.exchange.csv_file import decoded, why_no_text
from domain.jobs.failures import Invalid
from domain.planning.model import Availability, AvailabilityKind, Span
from domain.scheduling.recurrence import Recurrence
from providers.icalendar.zones import FileZones

BEFORE, AFTER = timedelta(days=1), timedelta(days=400)
"""The window around the present that is imported."""
MOST_OCCURRENCES = 10_000
LONGEST = timedelta(days=400)
"""Of an event that comes again: the package looks that far back for each occurrence."""
LONGEST_EVENT = timedelta(days=36_500)
LONGEST_ID = 200
ANY_ERROR = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, OSError)
"""What the packages raise for files that are none; they have no common class for it."""

_LOCK = threading.Lock()
"""The package keeps the zones that a file defines for all files after it, so one file is read at a time."""


def read_calendar(
    data: bytes, *, zone: str, now: datetime, options: CalendarOptions, encoding: str = "utf-8"
) -> FoundAvailability:
    """The busy times around `now` and all faults by line; raises `Invalid` for a zone or an encoding that is none.

    A floating time counts in `zone`. An occurrence lasts as long as its event does, in elapsed time.
    """
    found = FoundAvailability()
    reader = _Reader(found, known_zone(zone), now, options)
    if len(data) > MOST_BYTES:
        found.faults.add(0, "", "", f"the file has {len(data)} bytes, {MOST_BYTES} at most")
        return found
    text = decoded(data, encoding, found.faults)
    for row, line in enumerate((text or "").split("\n"), start=1):
        if why := why_no_text(line):
            found.faults.add(row, "", line.strip(), why)
    shape = None if text is None or found.faults else walk_calendar(text, found.faults)
    if text is None or shape is None:
        return found
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", GloballyUniqueTZIDGuessed)  # `/vendor/Europe/Berlin` is Europe/Berlin
        tzp.use(FileZones())  # forgets the zones of the file before
        reader.read(text, shape)
    if found.faults:
        found.entries.clear()
    return found


class _Reader:
    """Reads one file."""

    def __init__(self, found: FoundAvailability, zone: ZoneInfo, now: datetime, options: CalendarOptions) -> None:
        self._found, self._zone, self._options = found, zone, options
        self._window = Span(now - BEFORE, now + AFTER)
        self._steps = 0
        self._seen: dict[str, Span] = {}

    def read(self, text: str, shape: CalendarShape) -> None:
        self._found.ignored.update(shape.others)
        self._steps = shape.zone_steps
        events = self._parse(text, shape)
        self._check_all(events, self._check_properties)
        if self._found.faults:  # what follows calculates with the times
            return
        self._check_all(events, self._check_times)
        for series in list(self._series(events)):
            if not self._found.faults:
                self._read_series(series)

    def _check_all(self, events: Sequence[CalendarEvent], check: Callable[[CalendarEvent], None]) -> None:
        for event in events:
            try:
                check(event)
            except ANY_ERROR as error:
                self._fault(event.row, "", "", f"cannot be read: {error}")

    def _check_properties(self, event: CalendarEvent) -> None:
        for column, value, why in wrong_properties(event):
            self._fault(event.row, column, value or event.uid, why)

    def _check_times(self, event: CalendarEvent) -> None:
        why = self._wrong_end(event)
        if why:
            self._fault(event.row, "DURATION" if event.end is None else "DTEND", event.uid, why)
        else:
            self._check_repetition(event)

    def _fault(self, row: int, column: str, value: object, why: str) -> None:
        self._found.faults.add(row, column, str(value), why)

    def _parse(self, text: str, shape: CalendarShape) -> list[CalendarEvent]:
        try:
            calendars = icalendar.Calendar.from_ical(text, multiple=True)
            events = [event for calendar in calendars for event in calendar.walk("VEVENT")]
        except ANY_ERROR as error:
            self._fault(0, "", "", f"cannot be read: {error}")
            return []
        for calendar in calendars:
            scale = str(calendar.get("CALSCALE", "GREGORIAN"))
            if scale.upper() != "GREGORIAN":
                self._fault(0, "CALSCALE", scale, "is not taken; what is: GREGORIAN")
        if len(events) != len(shape.event_rows):
            self._fault(0, "END", "", "is missing for a component: the file is cut off")
            return []
        rows = zip(shape.event_rows, events, strict=True)
        return [CalendarEvent(row, event, shape.duration_days.get(row, 0)) for row, event in rows]

    def _wrong_end(self, event: CalendarEvent) -> str:
        """Why an event cannot end as it does; empty where it can."""
        start, end = event.start, event.end
        if end is not None and isinstance(start, datetime) != isinstance(end, datetime):
            return "is a day where DTSTART is a time, or a time where it is a day"
        if end is not None and self._moment(end) < self._moment(start):
            return "is before DTSTART"
        right = timedelta(0) <= self._length(event) <= LONGEST_EVENT
        return "" if right else f"makes it longer than {LONGEST_EVENT.days} days, or shorter than nothing"

    def _check_repetition(self, event: CalendarEvent) -> None:
        self._steps += len(event.extra())
        for words in event.rules():
            try:
                rule = Recurrence.parse(words, field="RRULE")
                self._steps += steps(rule, event.start, self._window.ends_at)
            except Invalid as refusal:
                self._fault(event.row, "RRULE", words, refusal.reason.partition(": ")[2])
        moved = timedelta(0) if event.changes is None else self._moment(event.changes) - self._moment(event.start)
        if event.repeats and max(event.length, abs(moved)) > LONGEST:
            self._fault(event.row, "DTEND", event.uid, f"is more than {LONGEST.days} days away in what repeats")
        if self._steps > MOST_STEPS:
            self._steps = 0  # said once for each such sum
            self._fault(event.row, "RRULE", event.uid, f"the rules until here pass more than {MOST_STEPS} times")

    def _series(self, events: Sequence[CalendarEvent]) -> Iterator[list[CalendarEvent]]:
        """The events that belong together: one UID, a first event and changes of its occurrences."""
        by_uid: dict[str, list[CalendarEvent]] = defaultdict(list)
        for event in events:
            by_uid[event.uid or f"line {event.row}\n"].append(event)
        for series in by_uid.values():
            kept: dict[datetime | None, CalendarEvent] = {}
            for event in series:
                key = None if event.changes is None else self._moment(event.changes)
                kept[key] = self._newer(kept[key], event) if key in kept else event
            self._check_changes(kept.get(None), kept.values())
            yield list(kept.values())

    def _check_changes(self, first: CalendarEvent | None, events: Iterable[CalendarEvent]) -> None:
        for event in events:
            if first is not None and event.changes is not None and not first.may_have(event.changes):
                why = f"is a day where DTSTART in line {first.row} is a time, or a time where it is a day"
                self._fault(event.row, "RECURRENCE-ID", event.uid, why)

    def _newer(self, one: CalendarEvent, other: CalendarEvent) -> CalendarEvent:
        """Which of two events of the same name counts."""
        if one.revision != other.revision:
            self._found.ignored["superseded"] += 1
        elif one.says_the_same(other):
            self._found.ignored["repeated"] += 1
        else:
            self._fault(other.row, "UID", other.uid, f"stands in line {one.row}, too")
        return max(one, other, key=lambda event: event.revision)

    def _length(self, event: CalendarEvent) -> timedelta:
        """How long an event lasts: by its first occurrence in elapsed time, or as it says itself."""
        start, end = event.start, event.end
        if isinstance(start, datetime) and isinstance(end, datetime):
            return self._moment(end) - self._moment(start)
        return event.length

    def _read_series(self, series: Sequence[CalendarEvent]) -> None:
        calendar = icalendar.Calendar()
        for event in series:
            # Days that are said as days are days of the calendar, all else is elapsed time (section 3.3.6). The package
            # adds both by the clocks: what starts at 02:30 on the day when they skip an hour would have no length.
            length = self._length(event)
            days = event.days(length)
            event.component["X-DAYS"] = days
            event.component["X-SECONDS"] = (length - timedelta(days=days)).total_seconds()
            event.component["X-ROW"] = event.row
            calendar.add_component(event.component)
        # A day more on both sides: the package compares days and floating times without a zone.
        start, end = self._window.starts_at - timedelta(days=1), self._window.ends_at + timedelta(days=1)
        try:
            occurrences = recurring_ical_events.of(calendar, components=["VEVENT"]).between(start, end)
        except ANY_ERROR as error:
            self._fault(series[0].row, "", series[0].uid, f"cannot be calculated: {error}")
            return
        repeats = len(series) > 1 or any(event.repeats for event in series)
        for occurrence in sorted(occurrences, key=lambda one: self._moment(one["DTSTART"].dt)):
            if self._found.read <= MOST_OCCURRENCES:
                self._read_occurrence(occurrence, repeats=repeats)

    def _read_occurrence(self, occurrence: Any, *, repeats: bool) -> None:  # noqa: ANN401 - icalendar's class
        start = occurrence["DTSTART"].dt
        begins = self._moment(start)
        ends = self._moment(start + timedelta(days=occurrence["X-DAYS"]))
        ends += timedelta(seconds=occurrence["X-SECONDS"])
        if begins >= self._window.ends_at or max(begins, ends) <= self._window.starts_at:
            return
        self._found.read += 1
        uid = str(occurrence.get("UID", ""))
        if self._found.read > MOST_OCCURRENCES:
            self._fault(occurrence["X-ROW"], "RRULE", uid, f"more than {MOST_OCCURRENCES} occurrences until here")
            return
        reason = self._ignored(occurrence, has_length=ends > begins)
        if reason:
            self._found.ignored[reason] += 1
            return
        self._found.floating += isinstance(start, datetime) and start.tzinfo is None
        external_id = uid or f"{begins.isoformat()}/{ends.isoformat()}"
        if uid and repeats:
            external_id = f"{uid}/{self._moment(occurrence['RECURRENCE-ID'].dt):%Y%m%dT%H%M%SZ}"
        self._add(occurrence["X-ROW"], external_id, Span(begins, ends))

    def _ignored(self, occurrence: Any, *, has_length: bool) -> str:  # noqa: ANN401 - icalendar's class
        """Why an occurrence keeps nobody busy; empty where it does."""
        if str(occurrence.get("STATUS", "")).upper() == "CANCELLED":
            return "canceled"
        shown_as = str(occurrence.get("TRANSP", "")).upper()
        if shown_as == "TRANSPARENT" and not self._options.free_are_busy:
            return "free"
        is_day = not isinstance(occurrence["DTSTART"].dt, datetime)
        if is_day and not shown_as and not self._options.whole_days_are_busy:
            return "whole day"
        return "" if has_length else "without length"

    def _add(self, row: int, external_id: str, span: Span) -> None:
        if len(external_id) > LONGEST_ID:
            external_id = hashlib.sha256(external_id.encode()).hexdigest()
        if external_id not in self._seen:
            self._seen[external_id] = span
            self._found.entries.append(AvailabilityEntry("", external_id, Availability(span, AvailabilityKind.BUSY)))
        elif self._seen[external_id] == span:
            self._found.ignored["repeated"] += 1
        else:
            self._fault(row, "UID", external_id, "stands for two different times")

    def _moment(self, time: date) -> datetime:
        if not isinstance(time, datetime):
            return day_begin(time, self._zone)
        return moment_of(time, self._zone) if time.tzinfo is None else time.astimezone(UTC)
