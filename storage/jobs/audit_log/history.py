"""The history of jobs and queues: the process that counts adds to a row of each span; charts and lists read it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.monitoring.history import KEPT, KEPT_BY_ORG, LENGTHS, Step, floor, history_rows
from domain.jobs.monitoring.zones import SLACK, Zone, ZoneMap, zone_map
from domain.jobs.queues import Queue
from storage.jobs.audit_log.counting import EventCounts, QueueMeasure
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, LAST_TIME
from storage.postgres.retention import Retention

SPANS: Mapping[Step, int] = {step: length // LENGTHS[Step.MINUTE] for step, length in LENGTHS.items()}
"""The span of a row, in minutes."""
RETENTIONS = (
    *(
        Retention(table, since="minute", age=age, only=f"t.span = {SPANS[step]}")
        for table in ("job_minutes", "queue_samples")
        for step, age in KEPT.items()
    ),
    Retention("org_hours", since="hour", age=KEPT_BY_ORG),
)
MOST_ZONES = 100
"""Spans of time that a list reads of the history: each is a look into an index."""
EVERYTHING = Zone(FIRST_TIME, LAST_TIME)
EVERYWHERE = ZoneMap((EVERYTHING,), None)


class Range(NamedTuple):
    """From the beginning of a step on, up to a time."""

    since: datetime
    before: datetime
    step: Step


def add(tx: Transaction, groups: EventCounts) -> None:
    """Add counted events, in the transaction that counts them."""
    tx.run("add_job_minutes", rows=Jsonb(history_rows(groups.of_fleet)), spans=list(SPANS.values()))
    tx.run("add_org_hours", rows=Jsonb(history_rows(groups.of_orgs)))


def add_samples(tx: Transaction, measured: Sequence[QueueMeasure]) -> None:
    """Keep what waits in the queues now, or nothing; a row keeps the most of its span."""
    now: datetime = tx.raw("select clock_timestamp() as at")[0].at
    rows = []
    for queue in Queue:
        own = [one for one in measured if one.queue == queue.value]
        since = min((one.since for one in own if one.since is not None), default=now)
        states = dict.fromkeys(("due", "backlog", "published", "parked", "held"), 0) | {
            one.state: one.jobs for one in own
        }
        rows.append(states | {"queue": queue.value, "oldest_due_s": max((now - since).total_seconds(), 0.0)})
    tx.run("add_queue_samples", at=now, rows=Jsonb(rows), spans=list(SPANS.values()))


def zones(tx: Transaction, *, of_type: str | None, is_of_org: bool, before: datetime, now: datetime) -> ZoneMap:
    """In which spans of time jobs of a type, or of the tenant's org, were enqueued; all, where nobody has counted.

    Of the jobs of all orgs and types there is no map: they came all the time.
    """
    if of_type is None and not is_of_org:
        return EVERYWHERE
    minutes_since, tens_since = (
        floor(now - KEPT[step], Step.HOUR) + LENGTHS[Step.HOUR] for step in (Step.MINUTE, Step.TEN_MINUTES)
    )
    rows = tx.run(
        "list_job_zones", of_type=of_type, before=before + SLACK, minutes_since=minutes_since, tens_since=tens_since,
        most=MOST_ZONES,
    )  # fmt: skip
    (counted_to,) = (row.starts for row in rows if row.ends is None)
    if counted_to is None:
        return EVERYWHERE
    counted = [Zone(row.starts, row.ends) for row in rows if row.ends is not None]
    kept = now - (KEPT_BY_ORG if is_of_org else KEPT[Step.HOUR])
    return zone_map(
        counted, counted_to=counted_to, kept_since=kept if len(counted) < MOST_ZONES else None, everything=EVERYTHING
    )


def of_fleet(
    tx: Transaction, shown: Range, *, job_types: Sequence[str] | None, queues: Sequence[str] | None
) -> Sequence[Row]:
    """What happened to jobs, in a row per step from the beginning on."""
    return tx.run(
        "list_job_history", since=shown.since, before=shown.before, step=LENGTHS[shown.step], span=SPANS[shown.step],
        job_types=_texts(job_types), queues=_texts(queues),
    )  # fmt: skip


def of_org(tx: Transaction, org_id: UUID, shown: Range, *, job_types: Sequence[str] | None) -> Sequence[Row]:
    """The same of the jobs of an org, which is kept by the hour."""
    return tx.run(
        "list_job_history_of_org", org_id=org_id, since=shown.since, before=shown.before, step=LENGTHS[shown.step],
        job_types=_texts(job_types),
    )  # fmt: skip


def of_queues(tx: Transaction, queues: Sequence[str], shown: Range) -> Sequence[Row]:
    """The most that waited in each queue, in a row per step in which it was measured."""
    return tx.run(
        "list_queue_history", queues=list(queues), since=shown.since, before=shown.before, span=SPANS[shown.step]
    )


def _texts(given: Sequence[str] | None) -> list[str] | None:
    return list(given) if given else None
