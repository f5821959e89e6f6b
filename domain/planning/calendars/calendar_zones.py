"""What the name of a time zone means in an iCalendar file: a zone of the world, of Windows, or of the file itself.

A zone that the file defines (RFC 5545 section 3.6.5) becomes one as the IANA database has it (RFC 9636), so that there
is one way to reckon with clocks.
"""

import io
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from functools import cache, partial
from zoneinfo import ZoneInfo, available_timezones

from tzlocal.windows_tz import win_tz

from domain.jobs.failures import Invalid
from domain.jobs.scheduling.recurrence import Frequency, Recurrence
from domain.jobs.scheduling.zones import zone_names
from domain.payloads.planning import FIRST_YEAR
from domain.planning.calendars.calendar_file import Component
from domain.planning.calendars.calendar_times import IN_UTC, Zones, read_list, read_time

MOST_PARTS = 2_000
"""STANDARD and DAYLIGHT together: programs that write all changes since 1900 have 85 for a zone."""
MOST_OFFSETS = 250
OFFSET = re.compile(r"([+-])(\d\d)(\d\d)(\d\d)?", re.ASCII)
FIRST_CHANGE = datetime(1970, 1, 1, tzinfo=UTC)
"""Before, a zone of a file is as it was at its first change: its rules begin in 1601 as Outlook writes them."""


class FileZones:
    """The time zones of one file, each made when it is first asked for: what no time names is not looked at."""

    def __init__(self, components: Iterable[Component], until: datetime, passes: Callable[[int], None]) -> None:
        """Keep the definitions; changes are known until a moment, and `passes` counts what the rules look at."""
        self._defined = {one.value("TZID"): one for one in components if one.name == "VTIMEZONE"}
        self._until, self._passes = until, passes
        self._found: dict[str, ZoneInfo] = {}
        self._refused: dict[str, str] = {}

    def find(self, name: str) -> ZoneInfo:
        """The zone of a name, looked up once; raises `ValueError` with the reason."""
        if name not in self._found and name not in self._refused:
            try:
                self._found[name] = self._look_up(name)
            except ValueError as error:
                self._refused[name] = str(error)
        if name in self._refused:
            raise ValueError(self._refused[name])
        return self._found[name]

    def _look_up(self, name: str) -> ZoneInfo:
        if name in zone_names():
            return ZoneInfo(name)
        if name in self._defined:
            return self._made(self._defined[name])
        known = _known_names()
        # `/example.org/20260101/Europe/Berlin` is Europe/Berlin.
        words = name.strip("/").casefold().split("/")
        endings = ("/".join(words[first:]) for first in range(len(words)))
        found = next((known[one] for one in endings if one in known), None)
        if found is None:
            raise ValueError("is in a time zone that nobody knows")
        return ZoneInfo(found)

    def _made(self, zone: Component) -> ZoneInfo:
        """Raises `ValueError` for a definition that cannot be read."""
        parts = [one for one in zone.parts if one.name in {"STANDARD", "DAYLIGHT"}]
        if not 0 < len(parts) <= MOST_PARTS:
            raise ValueError(f"is in a time zone of {len(parts)} parts; there may be 1 to {MOST_PARTS}")
        try:
            offsets = [_offset(one.value("TZOFFSETTO")) for one in parts]
            # Before its first change a zone has the offset of its winter.
            first = next((one for part, one in zip(parts, offsets, strict=True) if part.name == "STANDARD"), offsets[0])
            changes = {
                onset - timedelta(seconds=_offset(part.value("TZOFFSETFROM"))): after
                for part, after in zip(parts, offsets, strict=True)
                for onset in self._onsets(part)
            }
            return _zone(first, changes)
        except Invalid as refusal:
            raise ValueError(f"is in a time zone whose RRULE {refusal.reason.partition(': ')[2]}") from None
        except ValueError as error:
            raise ValueError(f"is in a time zone whose definition in line {zone.row} {error}") from None

    def _onsets(self, part: Component) -> Iterator[datetime]:
        """When a part begins to count, by the clocks before it, written as if these were those of UTC."""
        if len(part.all_of("DTSTART")) != 1:
            raise ValueError("has a part without DTSTART, or with two")
        (starts,) = part.all_of("DTSTART")
        clocks = Zones(lambda _: IN_UTC, IN_UTC)
        # A zone that has begun in the year 1 has begun before all times that count.
        value = starts.value if starts.value >= str(FIRST_YEAR) else f"{FIRST_YEAR}{starts.value[4:]}"
        start = read_time(value, starts, clocks)
        yield start.moment
        for written in part.all_of("RDATE"):
            yield from (one.moment for one, _ in read_list(written, clocks))
        for written in part.all_of("RRULE"):
            rule = Recurrence.parse(written.value, field="RRULE", passes=self._passes)
            if rule.frequency is not Frequency.YEARLY:
                raise Invalid("RRULE", "is not taken: a zone changes by FREQ=YEARLY")
            if rule.until is not None and rule.until.year < MAXYEAR:
                # A moment, which is compared as if the clocks showed UTC: a day more never meets the next change.
                rule = replace(rule, until=rule.until + timedelta(days=1))
            yield from rule.due_times(
                start=start.clock, zone=IN_UTC, after=FIRST_CHANGE, until=self._until, passes=self._passes
            )


@cache
def _known_names() -> Mapping[str, str]:
    """Names of the IANA database and of Windows, in small letters, and what Python calls them."""
    names = {one.casefold(): one for one in win_tz} | {one.casefold(): one for one in available_timezones()}
    return {name: win_tz.get(one, one) for name, one in names.items()}


def _offset(text: str) -> int:
    """Seconds east of Greenwich; raises `ValueError` with the reason."""
    found = OFFSET.fullmatch(text)
    if found is None:
        raise ValueError("has an offset that is none, such as +0100")
    hours, minutes, seconds = (int(one) for one in found.groups(default="0")[1:])
    size = 3600 * hours + 60 * minutes + seconds
    if size >= timedelta(days=1).total_seconds():
        raise ValueError("has an offset of a day or more")
    return -size if found[1] == "-" else size


def _zone(first: int, changes: Mapping[datetime, int]) -> ZoneInfo:
    """The zone with an offset before all changes, and with those after each, as a file of the IANA database.

    Raises `ValueError` for too many offsets.
    """
    offsets = [first, *({*changes.values()} - {first})]
    if len(offsets) > MOST_OFFSETS:
        raise ValueError(f"has more than {MOST_OFFSETS} offsets")
    header = partial(struct.pack, ">4sc15x6L", b"TZif", b"2")
    times = sorted(changes)
    body = [
        header(0, 0, 0, 0, 1, 1) + struct.pack(">lBB", 0, 0, 0) + b"\0",  # for readers of 32 bits
        header(0, 0, 0, len(times), len(offsets), 1),
        struct.pack(f">{len(times)}q", *(int(one.timestamp()) for one in times)),
        bytes(offsets.index(changes[one]) for one in times),
        *(struct.pack(">lBB", one, 0, 0) for one in offsets),
        b"\0\n\n",
    ]
    return ZoneInfo.from_file(io.BytesIO(b"".join(body)))
