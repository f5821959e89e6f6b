"""Counts the audit log into the totals of the metrics, each event once, and measures what waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from domain.jobs.monitoring.counting import Counted, MetricSeries
from storage.postgres.database import Transaction

MOST_MEASURED = 50_000
"""Jobs of a kind that one measurement looks at. A longer queue is shown as that long."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in the audit log, and the transactions that may still write entries before it."""

    entry: int
    writers: frozenset[str]
    at: datetime
    """When it was read: an entry with a larger number is written later."""


class EventCounts(NamedTuple):
    """The same events twice: in groups of the fleet by the minute, and in groups of orgs by the hour."""

    of_fleet: Sequence[Counted]
    of_orgs: Sequence[Counted]


class QueueMeasure(NamedTuple):
    """The jobs of one queue in one state, and since when the oldest of them has been due."""

    queue: str
    state: str
    jobs: int
    since: datetime | None


def hold(tx: Transaction, holder: UUID, silent_for: timedelta) -> int | None:
    """Take or keep the right to count, until the transaction's end at least; returns the newest entry that is counted.

    None when another process counts and has not been silent for so long.
    """
    rows = tx.run("hold_counting", holder=holder, silent_for=silent_for)
    return int(rows[0].counted_to) if rows else None


def release(tx: Transaction, holder: UUID) -> None:
    """Let another process count at once."""
    tx.run("release_counting", holder=holder)


def mark(tx: Transaction) -> LogPosition:
    """The end of the audit log, read before the transactions that may have taken a number up to it."""
    (end,) = tx.run("read_end_of_log")
    return LogPosition(int(end.entry), frozenset(row.transaction for row in tx.run("list_audit_writers")), end.at)


def count_events(tx: Transaction, *, after: int, upto: int, bounds: Sequence[float]) -> EventCounts:
    """What happened between two places of the audit log, in groups; other events than a job's moves are among them."""
    # PostgreSQL estimates a group per entry or two; with little memory it would sort them all, on disk.
    tx.raw("set local work_mem = '64MB'")
    rows = tx.tuples("count_events", Counted._fields, after=after, upto=upto, bounds=list(bounds))
    groups = [Counted(*row) for row in rows]
    return EventCounts([one for one in groups if one.org_id is None], [one for one in groups if one.org_id is not None])


def totals(tx: Transaction) -> dict[MetricSeries, float]:
    """Every total that is kept."""
    return {
        MetricSeries(*row[:4]): row[4] for row in tx.raw("select metric, job_type, queue, label, total from job_totals")
    }


def add(tx: Transaction, added: Mapping[MetricSeries, float], *, upto: int, counted_at: datetime | None = None) -> None:
    """Add to the totals, and note that the log is counted so far; `counted_at`: every entry before that time is."""
    tx.run(
        "add_totals",
        metrics=[series.metric for series in added],
        job_types=[series.job_type for series in added],
        queues=[series.queue for series in added],
        labels=[series.label for series in added],
        totals=list(added.values()),
        upto=upto,
        counted_at=counted_at,
    )


def counted_at(tx: Transaction) -> datetime | None:
    """Every event before that time is counted; None while nobody has counted."""
    at: datetime | None = tx.run("read_counted_at")[0].counted_at
    return at


def measure_queues(tx: Transaction, queues: Sequence[str]) -> Sequence[QueueMeasure]:
    """How many jobs wait or are held in each queue, up to `MOST_MEASURED` of a kind."""
    return [QueueMeasure(*row) for row in tx.run("measure_queues", queues=list(queues), most=MOST_MEASURED)]


def measure_ledger(tx: Transaction) -> Mapping[tuple[str, str], int]:
    """Workers, gates, dead letters and unsettled effects, by what they are and their kind."""
    return {(row.what, row.kind): row.number for row in tx.run("measure_ledger", most=MOST_MEASURED)}
