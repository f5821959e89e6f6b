"""Exports of the audit log: which range goes into the next file, its lines, and the record that it was written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from storage.postgres.database import Transaction

ENTRIES_PER_FILE = 500_000
"""The most entries of one file: PostgreSQL sorts so many in a second or two, and a crash loses no more work."""
NUMBERS_PER_ENTRY = 2
"""Every other number is given out, for an entry may stand for two events."""
PAGE = 5_000
"""Events that are held in memory at a time."""


class Range(NamedTuple):
    """The entries of one file: those with after_id < id <= upto_id."""

    after_id: int
    upto_id: int


class Line(NamedTuple):
    """One event as it is written."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Export:
    """One export as it is recorded; `exported_at` is None for one that was begun and not finished."""

    after_id: int
    upto_id: int
    begun_at: datetime
    exported_at: datetime | None
    events: int | None
    sha256: str | None
    newest_at: datetime | None
    deleted: int
    emptied_at: datetime | None


@dataclass(frozen=True, slots=True)
class ExportState:
    """What an operator should know who lets the log leave."""

    since: datetime | None
    """How far the log is in files, or its first entry's time; None when it is empty."""
    is_exported: bool
    is_uncounted: bool
    """Whether exported entries are old enough to go, and wait for the counting of metrics."""


def begin(tx: Transaction, *, before: datetime, settled: int, most_entries: int = ENTRIES_PER_FILE) -> Range | None:
    """Begin the next file, or return the range of one that was begun before and not finished.

    Entries up to the number `settled` are all visible. None when the next ones are not older than `before`.
    """
    begun = tx.raw("select after_id, upto_id from audit_exports where exported_at is null")
    if begun:
        return Range(*begun[0])
    after = int(tx.raw("select postroom.audit_exported_to() as upto")[0].upto)
    most = min(settled, after + most_entries * NUMBERS_PER_ENTRY)
    upto = tx.run("find_export_end", after=after, upto=most, before=before)[0].upto
    if upto is None:
        return None
    return Range(*tx.raw("select after_id, upto_id from postroom.begin_audit_export(%(upto)s)", {"upto": upto})[0])


def hold(tx: Transaction, wanted: Range) -> bool:
    """Hold a begun export until the transaction's end; false when another process has it or has finished it."""
    rows = tx.raw("select postroom.hold_audit_export(%(upto)s) as held", {"upto": wanted.upto_id})
    return bool(rows[0].held)


def lines(tx: Transaction, wanted: Range, *, at_once: int = PAGE) -> Iterator[Line]:
    """The events of a range in their order, with times in UTC; a page of them in memory."""
    tx.raw("set local time zone 'UTC'")
    tx.run("open_export", after=wanted.after_id, upto=wanted.upto_id)
    while rows := tx.raw(f"fetch {at_once} from exported_events"):
        for row in rows:
            yield Line(*row)
    tx.raw("close exported_events")


def finish(tx: Transaction, wanted: Range, *, events: int, sha256: str) -> None:
    """Record that the file is on its disk, in the transaction that holds the export."""
    given = {"upto": wanted.upto_id, "events": events, "sha256": sha256}
    tx.raw("select postroom.finish_audit_export(%(upto)s, %(events)s, %(sha256)s)", given)


def listed(tx: Transaction, *, limit: int) -> Sequence[Export]:
    """The exports, the newest first."""
    return [Export(**row._asdict()) for row in tx.run("list_exports", limit=limit)]


def measure(tx: Transaction, *, keep_for: timedelta) -> ExportState:
    """How far the log is in files, and what keeps entries that are older than `keep_for`."""
    return ExportState(*tx.run("measure_audit_export", keep_for=keep_for)[0])
