"""The shape of an iCalendar file (RFC 5545), looked at before a package reads it and calculates with it.

Reading a file makes time zones of it, and so follows their rules: a rule that never ends has to be found here.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from domain.exchange.calendar_zones import ZonePart, check_zone_rule
from domain.exchange.csv_file import Faults

MOST_BYTES = 5_000_000
MOST_COMPONENTS = 10_000
MOST_ZONE_PARTS = 2_000
"""STANDARD and DAYLIGHT together: programs that write all changes since 1900 have 85 for a zone."""
MOST_STEPS = 200_000
"""Times that the rules of a file pass until the end of the window; the package takes 10 µs for each."""
DEEPEST = 10
"""Components inside each other; the standard has three."""
NAMED_DAYS = re.compile(r"\+?P(?:0*([0-9]{1,9})W)?(?:0*([0-9]{1,9})D)?")
"""The package refuses a length with more digits."""
HAVE_RULES = ("VEVENT", "VTODO", "VJOURNAL", "AVAILABLE")
"""Components whose rules nobody follows while the file is read."""


@dataclass
class CalendarShape:
    """What a walk finds: in which line each event begins, and how many other components there are."""

    event_rows: list[int] = field(default_factory=list)
    duration_days: dict[int, int] = field(default_factory=dict)
    """By the line in which an event begins: the days that its DURATION names as days or weeks."""
    others: Counter[str] = field(default_factory=Counter)
    zone_steps: int = 0
    """What the rules of the file's time zones take, as steps of an event's rule."""


def walk_calendar(text: str, faults: Faults) -> CalendarShape | None:
    """The shape of a file that can be read; None, with the faults by line, for one that must not be."""
    walk, before = _Walk(faults), len(faults.listed)
    for row, line in _unfolded(text):
        if not walk.take(row, *_parts(line)):
            return None
    walk.end()
    if not walk.begun:
        faults.add(0, "", "", "the file has no calendar")
    return walk.shape if len(faults.listed) == before else None


class _Walk:
    """Walks through the lines of a file."""

    def __init__(self, faults: Faults) -> None:
        self.shape, self.begun = CalendarShape(), 0
        self._faults, self._inside = faults, list[tuple[str, int, ZonePart]]()
        self._zone_parts = 0

    def take(self, row: int, name: str, value: str) -> bool:
        """Whether the file is small and flat enough up to this line."""
        inside, begun_in, part = self._inside[-1] if self._inside else ("", 0, ZonePart())
        match name:
            case "BEGIN":
                return self._begin(row, value)
            case "END" if self._inside:
                return self._end(row)
            case "RRULE" | "DTSTART" | "RDATE" | "EXDATE" if inside not in HAVE_RULES:
                self._take_zone_rule(part, row, name, value)
            case "DURATION" if inside == "VEVENT":
                self.shape.duration_days[begun_in] = days_of(value)
            case "EXRULE":
                self._faults.add(row, name, value, "is not taken: it is not in the standard any more")
        return True

    def _take_zone_rule(self, part: ZonePart, row: int, name: str, value: str) -> None:
        if name == "DTSTART":
            part.take_start(value)
        elif name != "RRULE":
            part.days += 1 + value.count(",")
        elif rule := check_zone_rule(row, value, self._faults):
            part.rules.append(rule)

    def end(self) -> None:
        """The file is over; what has not ended counts, too."""
        while self._inside and self._end(0):
            pass

    def _end(self, row: int) -> bool:
        name, _, part = self._inside.pop()
        self.shape.zone_steps += part.steps()
        if self.shape.zone_steps > MOST_STEPS:
            why = f"the rules of time zones until here pass more than {MOST_STEPS} times"
            self._faults.add(row, "RRULE", name, why)
        return self.shape.zone_steps <= MOST_STEPS

    def _begin(self, row: int, name: str) -> bool:
        self.begun += 1
        self._inside.append((name, row, ZonePart()))
        self._zone_parts += name in {"STANDARD", "DAYLIGHT"}
        if name == "VEVENT":
            self.shape.event_rows.append(row)
        elif name in {"VTODO", "VJOURNAL", "VFREEBUSY", "VAVAILABILITY"}:
            self.shape.others[name] += 1
        why = ""
        if self.begun > MOST_COMPONENTS:
            why = f"the file has more than {MOST_COMPONENTS} components"
        elif len(self._inside) > DEEPEST:
            why = f"is more than {DEEPEST} components deep"
        elif self._zone_parts > MOST_ZONE_PARTS:
            why = f"the time zones of the file have more than {MOST_ZONE_PARTS} parts"
        if why:
            self._faults.add(row, "BEGIN", name, why)
        return not why


def days_of(duration: str) -> int:
    """The days that a duration names as days or weeks, which are longer or shorter than 24 hours (section 3.3.6)."""
    named = NAMED_DAYS.match(duration)
    weeks, days = named.groups(default="0") if named else ("0", "0")
    return 7 * int(weeks) + int(days)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """The content lines with the number of their first line; one goes on in lines that begin with a blank (3.1)."""
    row, parts = 0, list[str]()
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.removesuffix("\r")
        if not line:
            continue  # also between a line and its continuation: the package reads it so
        if line[0] in " \t" and parts:
            parts.append(line[1:])
            continue
        if parts:
            yield row, "".join(parts)
        row, parts = number, [line]
    if parts:
        yield row, "".join(parts)


def _parts(line: str) -> tuple[str, str]:
    """Name and value of a content line, in capitals; its parameters may have colons inside quotes."""
    quoted = False
    for index, sign in enumerate(line):
        if sign == '"':
            quoted = not quoted
        elif sign == ":" and not quoted:
            name = line[:index].partition(";")[0]
            return name.strip().upper(), line[index + 1 :].strip().upper()
    return line.strip().upper(), ""
