"""The shape of an iCalendar file (RFC 5545), looked at before a package reads it and calculates with it.

Reading a file makes time zones of it, and so follows their rules: a rule that never ends has to be found here.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from domain.exchange.csv_file import Faults
from domain.jobs.failures import Invalid
from domain.scheduling.recurrence import Frequency, Recurrence

MOST_BYTES = 5_000_000
MOST_COMPONENTS = 10_000
DEEPEST = 10
"""Components inside each other; the standard has three."""
HAVE_RULES = ("VEVENT", "VTODO", "VJOURNAL", "AVAILABLE")
"""Components whose rules nobody follows while the file is read."""


@dataclass
class CalendarShape:
    """What a walk finds: in which line each event begins, and how many other components there are."""

    event_rows: list[int] = field(default_factory=list)
    others: Counter[str] = field(default_factory=Counter)


def walk_calendar(text: str, faults: Faults) -> CalendarShape | None:
    """The shape of a file that can be read; None, with the faults by line, for one that must not be."""
    walk, before = _Walk(faults), len(faults.listed)
    for row, line in _unfolded(text):
        if not walk.take(row, *_parts(line)):
            return None
    if not walk.begun:
        faults.add(0, "", "", "the file has no calendar")
    return walk.shape if len(faults.listed) == before else None


class _Walk:
    """Walks through the lines of a file."""

    def __init__(self, faults: Faults) -> None:
        self.shape, self.begun = CalendarShape(), 0
        self._faults, self._inside = faults, list[str]()

    def take(self, row: int, name: str, value: str) -> bool:
        """Whether the file is small and flat enough up to this line."""
        match name:
            case "BEGIN":
                return self._begin(row, value)
            case "END" if self._inside:
                self._inside.pop()
            case "RRULE" if not self._inside or self._inside[-1] not in HAVE_RULES:
                _check_zone_rule(row, value, self._faults)
            case "EXRULE":
                self._faults.add(row, name, value, "is not taken: it is not in the standard any more")
        return True

    def _begin(self, row: int, name: str) -> bool:
        self.begun += 1
        self._inside.append(name)
        if name == "VEVENT":
            self.shape.event_rows.append(row)
        elif name in {"VTODO", "VJOURNAL", "VFREEBUSY", "VAVAILABILITY"}:
            self.shape.others[name] += 1
        if self.begun > MOST_COMPONENTS:
            self._faults.add(row, "BEGIN", name, f"the file has more than {MOST_COMPONENTS} components")
        elif len(self._inside) > DEEPEST:
            self._faults.add(row, "BEGIN", name, f"is more than {DEEPEST} components deep")
        return self.begun <= MOST_COMPONENTS and len(self._inside) <= DEEPEST


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


def _check_zone_rule(row: int, rule: str, faults: Faults) -> None:
    """A time zone changes by the year: any other rule is none, and would be followed from the year 1601 on."""
    try:
        taken = Recurrence.parse(rule, field="RRULE")
    except Invalid as refusal:
        faults.add(row, "RRULE", rule, refusal.reason.partition(": ")[2])
        return
    if taken.frequency is not Frequency.YEARLY:
        faults.add(row, "RRULE", rule, "is not taken for a time zone: FREQ must be YEARLY")
