"""A project's plan for people: its rows as a table of typed columns, and as what stands on paper."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.planning.files.csv_columns import Column, ColumnType
from domain.planning.model import Span

PAPERS = ("a4", "us-letter", "a3")
MOST_ON_PAPER = 10_000
"""Slots: more than 200 pages nobody pins up, and a table has no such limit."""
MOST_SLOTS = 50_000
MOST_ROWS = 100_000
"""A full run sheet fits: 1,000 slots of 100 people."""
MOST_BYTES = 50_000_000
"""Of a table, which is in memory twice when it is put into the store."""
NOT_PRINTED = dict.fromkeys(
    [
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        0x200E,
        0x200F,
        0x061C,
        *range(9),
        *range(11, 32),
        *range(0x7F, 0xA0),
    ],
    "",
)
"""Characters that turn the direction of what follows (Unicode, UAX 9 section 2), and those that control terminals."""
LONGEST_NAME = 150
"""Characters of a project's name in the name of a file."""
MOST_SHOWN = 20
"""Characters without a font that the paper names."""
HEAD = ("Time", "Slot", "Place", "People")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)

COLUMNS = (
    Column("run_sheet"),
    Column("slot"),
    Column("starts", ColumnType.CLOCK),
    Column("ends", ColumnType.CLOCK),
    Column("zone"),
    Column("place"),
    Column("collaborator"),
    Column("open_places", ColumnType.WHOLE),
    Column("starts_at", ColumnType.MOMENT),
    Column("ends_at", ColumnType.MOMENT),
    Column("slot_id", ColumnType.ID),
    Column("collaborator_id", ColumnType.ID),
)
"""A row for each person in a slot, and one for its open places: a row for each would be 100 of a slot that is empty."""


@dataclass(frozen=True, slots=True)
class PlannedSlot:
    """A slot of a plan as people read it, with those who are in it by id and name."""

    slot_id: UUID
    slot: str
    span: Span
    headcount: int
    run_sheet: str = ""
    place: str = ""
    people: tuple[tuple[UUID, str], ...] = ()

    @property
    def open_places(self) -> int:
        """How many people are missing."""
        return max(0, self.headcount - len(self.people))

    @property
    def rows(self) -> int:
        """How many rows of a table it takes."""
        return len(self.people) + (self.open_places > 0)


def bounded_slots(
    slots: Iterable[PlannedSlot], *, most: int = MOST_SLOTS, rows: int = MOST_ROWS
) -> Iterator[PlannedSlot]:
    """The same slots; raises `Invalid` as soon as they are too many, or take too many rows."""
    taken = 0
    for number, slot in enumerate(slots, 1):
        taken += slot.rows
        _check_size(number, most, "slots")
        _check_size(taken, rows, "people and open slots")
        yield slot


def bounded_bytes(lines: Iterable[str], *, most: int = MOST_BYTES) -> Iterator[bytes]:
    """The same lines as bytes; raises `Invalid` as soon as they are too many."""
    size = 0
    for line in lines:
        data = line.encode()
        size += len(data)
        _check_size(size, most, "bytes")
        yield data


def _check_size(has: int, most: int, what: str) -> None:
    if has > most:
        raise Invalid("payload.run_sheet_id", f"the plan has more than {most} {what}: name one run sheet")


def table_rows(slots: Iterable[PlannedSlot], zone: ZoneInfo) -> Iterator[Sequence[Any]]:
    """The rows of `COLUMNS`; times stand by the clocks of the zone, and with their offset from UTC."""
    for slot in slots:
        starts, ends = slot.span.starts_at.astimezone(zone), slot.span.ends_at.astimezone(zone)
        clocks = (starts.replace(tzinfo=None), ends.replace(tzinfo=None))
        inside: list[tuple[UUID | None, str | None, int]] = [(person, name, 0) for person, name in slot.people]
        if slot.open_places:
            inside.append((None, None, slot.open_places))
        for person, name, missing in inside:
            yield (
                *(slot.run_sheet, slot.slot, *clocks, zone.key, slot.place, name, missing),
                *(starts, ends, slot.slot_id, person),
            )


@dataclass(frozen=True, slots=True)
class PlanPaper:
    """A plan as it stands on paper. `made_at` is the moment of the snapshot: the same plan is the same paper."""

    title: str
    slots: tuple[PlannedSlot, ...]
    zone: ZoneInfo
    revision: str
    made_at: datetime
    paper: str = "a4"
    subtitle: str = ""

    def __post_init__(self) -> None:
        """Put the slots in order; raises `Invalid` for what fits on no paper."""
        if self.paper not in PAPERS:
            raise Invalid("paper", f"must be one of {', '.join(PAPERS)}")
        if len(self.slots) > MOST_ON_PAPER:
            raise Invalid(
                "format", f"pdf takes {MOST_ON_PAPER} slots at most, and the plan has {len(self.slots)}: take csv"
            )
        object.__setattr__(self, "made_at", self.made_at.astimezone(UTC).replace(microsecond=0))
        object.__setattr__(self, "slots", tuple(sorted(self.slots, key=lambda one: (one.span, one.slot_id))))

    def as_json(self, unprinted: Sequence[str] = (), box: str = "") -> JsonObject:
        """All text of the paper; `unprinted` characters, which no font has, are boxes."""
        made = self.made_at
        printable = NOT_PRINTED | {ord(sign): box for text in unprinted for sign in text}
        footer = f"Times by the clocks of {self.zone.key}. Revision {self.revision}, made {clock(made, self.zone)}"
        paper = {
            "title": self.title,
            "subtitle": self.subtitle,
            "paper": self.paper,
            "head": list(HEAD),
            "days": [{"name": day, "rows": [self._row(slot) for slot in slots]} for day, slots in self._days()],
            "footer": f"{footer} on {day_name(made, self.zone)}.",
            "made": {name: getattr(made, name) for name in ("year", "month", "day", "hour", "minute", "second")},
            "unprinted": "",
        }
        if unprinted:
            codes = ", ".join(f"U+{ord(sign):04X}" for text in unprinted[:MOST_SHOWN] for sign in text)
            more = f", and {len(unprinted) - MOST_SHOWN} more" if len(unprinted) > MOST_SHOWN else ""
            paper["unprinted"] = f"A box stands for a character that no font has: {codes}{more}."
        return {name: _translated(value, printable) for name, value in paper.items()}

    def text(self) -> str:
        """All that people have written on the paper."""
        written = [self.title, self.subtitle, *(text for slot in self.slots for text in (slot.slot, slot.place))]
        return "".join([*written, *(name for slot in self.slots for _, name in slot.people)])

    def _days(self) -> Iterator[tuple[str, list[PlannedSlot]]]:
        for day, slots in groupby(self.slots, key=lambda slot: day_name(slot.span.starts_at, self.zone)):
            yield day, list(slots)

    def _row(self, slot: PlannedSlot) -> JsonObject:
        missing = slot.open_places
        return {
            "time": times(slot.span, self.zone),
            "slot": slot.slot,
            "place": slot.place,
            "people": [name for _, name in slot.people],
            "open": f"{missing} open" if missing else "",
        }


def day_name(moment: datetime, zone: ZoneInfo) -> str:
    """The day at a moment, in words that no program's language changes."""
    day = moment.astimezone(zone)
    return f"{WEEKDAYS[day.weekday()]}, {day.day} {MONTHS[day.month - 1]} {day.year}"


def clock(moment: datetime, zone: ZoneInfo) -> str:
    """The time by the clocks of a zone; with its offset where the clocks show the time twice."""
    local = moment.astimezone(zone)
    other = local.replace(fold=1 - local.fold)
    offset = local.utcoffset()
    if offset is None or other.utcoffset() == offset:
        return f"{local:%H:%M}"
    hours, minutes = divmod(int(offset.total_seconds()) // 60, 60)
    return f"{local:%H:%M} (UTC{hours:+03}:{minutes:02})"


def times(span: Span, zone: ZoneInfo) -> str:
    """From when until when by the clocks of a zone, with the number of days between."""
    days = (span.ends_at.astimezone(zone).date() - span.starts_at.astimezone(zone).date()) // timedelta(days=1)
    return f"{clock(span.starts_at, zone)}\u2013{clock(span.ends_at, zone)}{f' +{days}' if days else ''}"


def _translated(value: Any, table: dict[int, str]) -> Any:  # noqa: ANN401 - JSON
    match value:
        case str():
            return value.translate(table)
        case list():
            return [_translated(one, table) for one in value]
        case dict():
            return {name: _translated(one, table) for name, one in value.items()}
        case _:
            return value


def file_name(words: str, revision: int, ending: str) -> str:
    """What a file of a plan is called: no part of a project's name makes a path or breaks a line."""
    plain = "".join(sign if sign.isprintable() and sign not in "/\\" else "-" for sign in words)
    return f"{plain[:LONGEST_NAME].strip()}, revision {revision}.{ending}"
