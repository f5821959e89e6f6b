"""Jobs as people look at them: lists, the newest first; one, as its org may see it; and what the ledger knows of one.

A page of a list looks at a bounded number of jobs, and says how far back it looked. A tenant's transaction sees the
jobs of its org, the ledger's those of all.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import AwareDatetime, TypeAdapter

from domain.jobs.job import FINAL, SYSTEM_ORG, State
from domain.jobs.job_ids import upper_job_id
from domain.jobs.monitoring.job_facts import JobFacts
from domain.jobs.monitoring.job_filter import JobFilter
from domain.jobs.monitoring.zones import ZoneMap
from storage.jobs import ledger
from storage.jobs.audit_log import history
from storage.postgres.database import TenantTransaction, Transaction
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, Looked

LONGEST_FIELD = 256 * 1024
"""Characters of a payload, progress, output or error that an answer carries; four such fields make a megabyte."""

SHOWN = 100
"""Events, steps, effects and children that a timeline shows of each."""
MOST_EVENTS, MOST_CHILDREN = 10_000, 1_000
"""So many events of a job are looked at for the newest, and so many children are counted."""


MOST_LOOKED_AT = (1_000, 20_000)
"""How many jobs a page looks at: few first, for then most pages are full."""
MOST_UNFINISHED = 5_000
"""In each waiting state. If there are more, their lists look at the newest jobs, as others do."""
CLOCKS_DIFFER = timedelta(minutes=1)
"""How far the time in a job's id may be from the job's, as `jobs.foreign_at` has it."""
FIRST_ID = UUID(int=0)

HELD = frozenset({State.CLAIMED, State.RUNNING})
TROUBLED = FINAL - {State.SUCCEEDED}
UNFINISHED = frozenset(State) - FINAL

_FACTS = TypeAdapter(JobFacts)

Source = Literal["newest", "troubled", "unfinished", "held", "named"]


class JobPosition(NamedTuple):
    """Where a job stands in a list: the time in its id, or its own if that says nothing; and its id."""

    at: AwareDatetime
    job_id: UUID


class LivingWorkers(NamedTuple):
    """The workers of one release that serve the same queues."""

    version: str
    queues: Sequence[str]
    workers: int
    since: datetime
    """When the first of them started."""


def living_workers(tx: Transaction) -> Sequence[LivingWorkers]:
    """Which workers have a lease, by what they are and serve."""
    return [LivingWorkers(*row) for row in tx.run("list_living_workers")]


def listed(
    tx: Transaction,
    wanted: JobFilter,
    *,
    after: JobPosition | None = None,
    limit: int,
    most_looked_at: Sequence[int] = MOST_LOOKED_AT,
    most_unfinished: int = MOST_UNFINISHED,
) -> Looked[Row]:
    """Jobs after a position, one more than `limit` where there are more."""
    now = ledger.read_time(tx)
    start = JobPosition(min(wanted.before or now, now) + CLOCKS_DIFFER, FIRST_ID)
    start = start if after is None else min(after, start)
    if wanted.job_ids:
        return Looked(_read(tx, "named", wanted, start, limit), None)
    source = source_of(wanted.states, is_of_org=isinstance(tx, TenantTransaction))
    if source in {"unfinished", "held"}:
        if tx.run("are_few_unfinished", source=source, most=most_unfinished)[0].are_few:
            return Looked(_read(tx, source, wanted, start, limit), None)
        source = "newest"
    found: Looked[Row] = Looked((), None)
    zones = history.EVERYWHERE
    if source == "newest":
        is_of_org = isinstance(tx, TenantTransaction)
        of_type = wanted.job_types[0] if len(wanted.job_types) == 1 else None
        zones = history.zones(tx, of_type=of_type, is_of_org=is_of_org, before=start.at, now=now)
    for most in most_looked_at:
        upto, reached = lower_bound(wanted.since, _how_far(tx, source, start, most, zones))
        found = Looked(_read(tx, source, wanted, start, limit, upto=upto, zones=zones), reached)
        if len(found.rows) > limit or reached is None:
            break
    return found


def source_of(states: Sequence[str], *, is_of_org: bool) -> Source:
    """The index that has all jobs in these states."""
    asked = frozenset(map(State, states))
    if asked and asked <= HELD:
        return "held"
    if asked and asked <= UNFINISHED:
        return "unfinished"
    return "troubled" if asked and asked <= TROUBLED and is_of_org else "newest"


def lower_bound(since: datetime | None, reached: datetime | None) -> tuple[datetime | None, datetime | None]:
    """From when on to read, and how far back that looks; None: to the end of what is asked for."""
    first = None if since is None else max(since, FIRST_TIME + CLOCKS_DIFFER) - CLOCKS_DIFFER
    if first is not None and (reached is None or reached < first):
        return first, None
    return reached, reached


def _how_far(tx: Transaction, source: Source, start: JobPosition, most: int, zones: ZoneMap) -> datetime | None:
    """How far so many jobs reach; None when that is to the end."""
    position = {"before": start.at, "last_id": start.job_id, "most": most}
    if source == "troubled":
        rows = tx.run("look_back_at_troubled_jobs", **position)
        return rows[0].reached if rows else None
    spans = _ids(zones)
    reached = tx.run("look_back_at_jobs", before_id=upper_job_id(*start), **position, **spans)[0].reached
    return max((one for one in (reached, zones.reached) if one is not None), default=None)


def _ids(zones: ZoneMap) -> dict[str, list[UUID]]:
    """The ids between which the jobs of each zone lie."""
    return {
        "from_ids": [upper_job_id(zone.starts, FIRST_ID) for zone in zones.zones],
        "to_ids": [upper_job_id(zone.ends, FIRST_ID) for zone in zones.zones],
    }


def _read(  # noqa: PLR0913 - what is asked for, and where it is looked for
    tx: Transaction,
    source: Source,
    wanted: JobFilter,
    start: JobPosition,
    limit: int,
    *,
    upto: datetime | None = None,
    zones: ZoneMap = history.EVERYWHERE,
) -> Sequence[Row]:
    return tx.run(
        "list_jobs",
        source=source,
        **conditions(wanted),
        upto=upto or FIRST_TIME,
        upto_id=FIRST_ID if upto is None else upper_job_id(upto, FIRST_ID),
        before=start.at,
        before_id=upper_job_id(*start),
        last_id=start.job_id,
        limit=limit + 1,
        **_ids(zones),
    )


def conditions(wanted: JobFilter) -> dict[str, object]:
    """The parameters of the condition by which statements filter jobs, and letters."""
    matches = [{"path": path, "value": value} for path, value in wanted.matches]
    return {
        "org_id": wanted.org_id,
        "job_types": list(wanted.job_types) or None,
        "states": list(wanted.states) or None,
        "queue": wanted.queue,
        "error_code": wanted.error_code,
        "since": wanted.since,
        "until": wanted.before,
        "payload": Jsonb(matches) if matches else None,
        "job_ids": list(wanted.job_ids) or None,
        "trace_id": wanted.trace_id,
    }


def read(tx: Transaction, job_id: UUID) -> Row | None:
    """One job, with the columns of `read_job`; None when the transaction's org has none of that id."""
    rows = tx.run("read_job", job_id=job_id, longest=LONGEST_FIELD)
    return rows[0] if rows else None


def state(tx: Transaction, job_id: UUID) -> str | None:
    """The state of one job; None when the transaction's org has none of that id."""
    rows = tx.raw("select state from jobs where id = %(job)s", {"job": job_id})
    return str(rows[0].state) if rows else None


def timeline(tx: Transaction, job_id: UUID) -> Row | None:
    """One job with its timeline, steps, effects, children and dead letter; None when nothing is known of it."""
    looks = {"shown": SHOWN, "most_events": MOST_EVENTS, "most_children": MOST_CHILDREN}
    found = tx.run("show_job", job_id=job_id, **looks)[0]
    return found if found.job or found.events or found.dead_letter else None


def facts(tx: Transaction, job_id: UUID) -> JobFacts | None:
    """What keeps a job where it is; None when the transaction's org has none of that id."""
    found = tx.run("why_of_job", job_id=job_id)[0].facts
    return None if found is None else _FACTS.validate_python(found)


def descendants(
    tx: Transaction, job_ids: Sequence[UUID], *, org_id: UUID | None, levels: int, most: int
) -> Sequence[tuple[UUID, UUID]]:
    """The unfinished jobs that descend from jobs, with their orgs, parents first; with an org, from its jobs alone."""
    rows = tx.run(
        "list_descendants", job_ids=list(job_ids), org_id=org_id, system_org=SYSTEM_ORG, levels=levels, most=most
    )
    return [(row.id, row.org_id) for row in rows]
