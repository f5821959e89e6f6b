"""How finished jobs leave: the order in which the ledger is looked through for them, and the pace. Arithmetic only."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

FIRST_ID = UUID(int=0)

WORK_SHARE = 0.5
"""The part of its time for which a job of maintenance works; in the rest it pauses, so that others have the disk."""

MOST_BATCHES_PER_S = 10
"""The rate of each such job, however quick its batches are: 10,000 rows a second where a batch has a thousand. That is
more than a fleet adds for long, and leaves PostgreSQL's log and cache to the jobs that people wait for."""

RUN = timedelta(seconds=20)
"""How long one such job goes on: a worker that stops waits for it no longer. The rest is its follow-up's, or the next
tick's."""

LONGEST_PAUSE_S = 1.0
"""A job that pauses does not see that its worker stops."""

OWN_IDS_END_IN = timedelta(days=1)
"""How far in the future an id may lie that PostgreSQL has made: its clock may have been put back."""


@dataclass(frozen=True, slots=True)
class JobBatch:
    """One batch of jobs, by the order of their ids."""

    deleted: int
    seen: int
    """How many were looked at; fewer than asked for when no more are left."""
    last_id: UUID | None
    all_young: bool
    """Whether all were created too late to be old enough now."""


def next_place(found: JobBatch, batch: int, now: datetime) -> UUID | None:
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


def pause_after(took_s: float, share: float = WORK_SHARE, per_s: float = MOST_BATCHES_PER_S) -> float:
    """The rest after a batch of `took_s`; bounded.

    Work takes `share` of the time at most, and at most `per_s` batches begin in a second.
    """
    return min(max(took_s * (1 / share - 1), 1 / per_s - took_s), LONGEST_PAUSE_S)


def follow_up_key(job_type: str, now: datetime, run: timedelta) -> str:
    """The key of a follow-up after a run of that length, one in that time: the runs of two ticks become one."""
    return f"more:{job_type}:{int(now.timestamp() // run.total_seconds())}"
