"""An iCalendar file as its components (RFC 5545 section 3.1): only the lines that decide about a time are kept.

The work grows with the length of the file, and so does what a line may cost.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from domain.documents.faults import Faults
from domain.planning.files.csv_file import why_no_text

MOST_COMPONENTS = 10_000
DEEPEST = 10
"""Components inside each other; the standard has three."""
USED = (
    "DTSTART",
    "DTEND",
    "DURATION",
    "RRULE",
    "EXRULE",
    "RDATE",
    "EXDATE",
    "RECURRENCE-ID",
    "UID",
    "STATUS",
    "TRANSP",
)
"""The properties of an event that decide about a time. A fault in another one loses nothing."""
KEPT = frozenset((*USED, "SEQUENCE", "DTSTAMP", "TZID", "TZOFFSETFROM", "TZOFFSETTO", "CALSCALE", "X-WR-TIMEZONE"))
NESTING = ("BEGIN", "END")
LINE = re.compile(r'\s*([\w.-]+)\s*((?:;(?:"[^"]*"|[^":])*+)?):(.*)', re.ASCII | re.DOTALL)
PARAMETER = re.compile(r';\s*([\w.-]+)\s*=\s*("[^"]*"|[^";]*)', re.ASCII)


@dataclass(frozen=True, slots=True)
class Property:
    """A content line without its name."""

    parameters: Mapping[str, str]
    """By their names in capitals, without quotes."""
    value: str


@dataclass(frozen=True, slots=True)
class Component:
    """A component: the line in which it begins, its properties by name, and the components in it."""

    name: str
    row: int
    properties: dict[str, list[Property]] = field(default_factory=dict)
    parts: list["Component"] = field(default_factory=list)

    def all_of(self, name: str) -> list[Property]:
        """All properties of a name."""
        return self.properties.get(name, [])

    def value(self, name: str) -> str:
        """The value of the first property of a name; empty where there is none."""
        return next((one.value for one in self.all_of(name)), "")


def read_components(text: str, faults: Faults, ignored: Counter[str]) -> list[Component]:
    """The outermost components of a file; incomplete, with the faults by line, where its components cannot be known.

    `ignored` counts lines that are none and decide about no time.
    """
    inside, begun = [Component("", 0)], 0
    for row, line in _unfolded(text):
        found = LINE.fullmatch(line)
        name = (found[1] if found else line.partition(";")[0]).strip().upper()
        if found is None or name not in NESTING:
            _keep(inside[-1], row, name, found, faults, ignored)
            continue
        begun += name == "BEGIN"
        why = _nest(inside, row, name, found[3].strip().upper())
        if begun > MOST_COMPONENTS:
            why = f"the file has more than {MOST_COMPONENTS} components"
        if why:
            faults.add((row, name), why, value=found[3])
            return []
    if not begun:
        faults.add((0, ""), why_no_text(text) or "the file has no calendar")
    elif len(inside) > 1:
        faults.add((0, "END"), "is missing for a component: the file is cut off", value=inside[-1].name)
    return inside[0].parts


def _nest(inside: list[Component], row: int, name: str, component: str) -> str:
    """Go into a component, or out of one; why not, or empty."""
    if name == "BEGIN":
        inside.append(Component(component, row))
        inside[-2].parts.append(inside[-1])
        return f"is more than {DEEPEST} components deep" if len(inside) > DEEPEST + 1 else ""
    if len(inside) == 1:
        return "ends no component"
    ended = inside.pop()
    # What ends nothing that has begun is a slip of the pen. What ends an outer component says that a part is lost.
    is_outer = ended.name != component and component in {one.name for one in inside}
    return f"does not end {ended.name}, which began in line {ended.row}" if is_outer else ""


def _keep(
    component: Component, row: int, name: str, found: re.Match[str] | None, faults: Faults, ignored: Counter[str]
) -> None:
    """Keep a line that decides about a time, in its component."""
    if name not in KEPT:
        ignored.update(["unreadable line"] if found is None else [])
    elif why := "has no value" if found is None else why_no_text(found[0]):
        faults.add((row, name), why)
    elif found:
        parameters = {named.upper(): one.strip().strip('"') for named, one in PARAMETER.findall(found[2])}
        component.properties.setdefault(name, []).append(Property(parameters, found[3].strip()))


def all_components(roots: list[Component]) -> Iterator[Component]:
    """The components and those inside them, each before its parts."""
    for component in roots:
        yield component
        yield from all_components(component.parts)


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """The content lines with the number of their first line; one goes on in lines that begin with a blank (3.1)."""
    row, parts = 0, list[str]()
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if not line:
            continue  # also between a line and its continuation
        if line[0] in " \t" and parts:
            parts.append(line[1:])
            continue
        if parts:
            yield row, "".join(parts)
        row, parts = number, [line]
    if parts:
        yield row, "".join(parts)
