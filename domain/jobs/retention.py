"""How finished jobs leave: the order in which the ledger is looked through for them, and the pace. Arithmetic only."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

FIRST_ID = UUID(int=0)

LONGEST_PAUSE_S = 1.0
"""A job that pauses does not see that its worker stops."""

OWN_IDS_END_IN = timedelta(days=1)
"""How far in the future an id may lie that PostgreSQL has made: its clock may have been put back."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch of jobs, by the order of their ids."""

    deleted: int
    seen: int
    """How many were looked at; fewer than asked for when no more are left."""
    last_id: UUID | None
    all_young: bool
    """Whether all were created too late to be old enough now."""


def next_place(found: Batch, batch: int, now: datetime) -> UUID | None:
    """After which id to look next; None at the end.

    The ids that PostgreSQL makes are in the order of their creation, so the first batch without an old job is the last
    one of them. Clients of Celery choose ids at random: those lie behind, and are looked through to the end.
    """
    if found.last_id is None or found.seen < batch:
        return None
    foreign = first_foreign_id(now)
    return foreign if found.all_young and found.last_id < foreign else found.last_id


def first_foreign_id(now: datetime) -> UUID:
    """What no id reaches that PostgreSQL has made by now: a UUID of version 7 begins with its time in milliseconds."""
    return UUID(int=int((now + OWN_IDS_END_IN).timestamp() * 1000) << 80)


def pause_after(took_s: float, share: float) -> float:
    """The rest after `took_s` of work, so that work takes `share` of the time; bounded."""
    return min(took_s * (1 / share - 1), LONGEST_PAUSE_S)


def follow_up_key(job_type: str, now: datetime, run: timedelta) -> str:
    """The key of a follow-up after a run of that length, one in that time: the runs of two ticks become one."""
    return f"more:{job_type}:{int(now.timestamp() // run.total_seconds())}"
