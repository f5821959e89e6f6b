"""Availability from a table: one row for each time, with everything that is wrong with any row."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from zoneinfo import ZoneInfo

from domain.jobs.failures import Invalid
from domain.planning.calendars.availability import (
    AvailabilityEntry,
    FoundAvailability,
    after,
    day_begin,
    known_zone,
    moment_of,
)
from domain.planning.files.csv_columns import Column
from domain.planning.files.csv_file import CsvRow, read_records
from domain.planning.model import Availability, AvailabilityKind, Span

COLUMNS = (
    *(Column(name, is_required=True) for name in ("collaborator", "from", "until")),
    *(Column(name) for name in ("kind", "id")),
)
"""`from` and `until` are clock times in the import's zone, moments with their offset, or whole days, the last included.

`kind` is available, preferred or busy, and available where it is empty. `id` tells which entry a row replaces when the
file comes again; without it that is the row with the same person, times and kind.
"""
LONGEST_ID = 200


Whose = Callable[[str], str]
"""The id of the person whom a file names; raises `ValueError` with the reason."""


def read_table(
    data: bytes, *, zone: str, encoding: str = "utf-8", needs_collaborator: bool, whose: Whose = str
) -> FoundAvailability:
    """The entries of a file and all its faults; raises `Invalid` for a zone or an encoding that does not exist."""
    found, where = FoundAvailability(), known_zone(zone)
    columns = COLUMNS if needs_collaborator else COLUMNS[1:]
    seen: dict[tuple[str, str], int] = {}
    for record in read_records(data, columns, encoding, found.faults):
        found.read += 1
        entry = _entry(record, where, found, whose if needs_collaborator else None)
        if entry is None:
            continue
        earlier = seen.setdefault((entry.collaborator, entry.external_id), record.row)
        if earlier == record.row:
            found.entries.append(entry)
        elif record.values.get("id", "").strip():
            found.faults.add((record.row, "id"), f"stands in row {earlier}, too", value=record.texts["id"])
        else:
            found.ignored["repeated"] += 1
    if found.faults:
        found.entries.clear()
    return found


def _entry(record: CsvRow, zone: ZoneInfo, found: FoundAvailability, whose: Whose | None) -> AvailabilityEntry | None:
    values = {name: str(value).strip() for name, value in record.values.items()}
    wrong = list(_wrong_fields(values, whose))
    if not wrong:
        times = {column: _time(values[column]) for column in ("from", "until")}
        found.floating += sum(isinstance(one, datetime) and one.utcoffset() is None for one in times.values())
        try:
            availability = Availability(_span(times, zone), _kind(values))
        except ValueError as error:
            wrong.append(("until", str(error)))
        else:
            who = "" if whose is None else whose(values["collaborator"])
            return AvailabilityEntry(who, values.get("id") or _external_id(availability), availability)
    for column, why in wrong:
        found.faults.add((record.row, column), why, value=record.texts.get(column, ""))
    return None


def _wrong_fields(values: Mapping[str, str], whose: Whose | None) -> Iterator[tuple[str, str]]:
    """The fields that are wrong by themselves, and why."""
    if len(values.get("id", "")) > LONGEST_ID:
        yield "id", f"has more than {LONGEST_ID} characters"
    readers: list[tuple[str, Callable[[str], object]]] = [
        ("kind", lambda _: _kind(values)),
        ("from", _time),
        ("until", _time),
    ]
    if whose is not None:
        readers.insert(0, ("collaborator", lambda text: whose(_stated(text))))
    for column, read in readers:
        try:
            read(values.get(column, ""))
        except ValueError as error:
            yield column, str(error)


def _kind(values: Mapping[str, str]) -> AvailabilityKind:
    kind = (values.get("kind") or AvailabilityKind.AVAILABLE).casefold()
    if kind not in set(AvailabilityKind):
        raise ValueError(f"is none of {', '.join(AvailabilityKind)}")
    return AvailabilityKind(kind)


def _stated(text: str) -> str:
    if not text:
        raise ValueError("is missing")
    return text


def _time(text: str) -> datetime | date:
    """A clock time, a moment, or a day; raises `ValueError` with the reason."""
    _stated(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no time such as 2026-03-29 10:00, 2026-03-29T10:00+02:00 or 2026-03-29") from None


def _span(times: Mapping[str, datetime | date], zone: ZoneInfo) -> Span:
    """The time from the one until the other; raises `ValueError` with the reason."""
    start, end = times["from"], times["until"]
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise ValueError("is a day where from is a time, or a time where from is a day")
    try:
        begins = _moment(start, zone) if isinstance(start, datetime) else day_begin(start, zone)
        ends = _moment(end, zone) if isinstance(end, datetime) else day_begin(after(end), zone)
        return Span(begins, ends)
    except OverflowError:
        raise ValueError("is too far in the past or in the future") from None
    except Invalid:
        raise ValueError(f"is not after from by the clocks of {zone.key}, which may skip an hour") from None


def _moment(time: datetime, zone: ZoneInfo) -> datetime:
    return moment_of(time, zone) if time.utcoffset() is None else time


def _external_id(entry: Availability) -> str:
    """Of a row without one; the person is known besides, by whatever name the file calls them."""
    words = f"{entry.span.starts_at.isoformat()}\n{entry.span.ends_at.isoformat()}\n{entry.kind}"
    return hashlib.sha256(words.encode()).hexdigest()
