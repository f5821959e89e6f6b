"""Jobs as their own org may see them: one, and lists from a place on. For tenants' transactions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.job import FINAL, State
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

TROUBLED = FINAL - {State.SUCCEEDED}
UNFINISHED = frozenset(State) - FINAL

LONGEST_FIELD = 256 * 1024
"""Characters of a payload, progress, output or error that an answer carries; four such fields make a megabyte."""


class Place(NamedTuple):
    """Where a list stands: the last job that was shown."""

    created_at: datetime
    job_id: UUID


@dataclass(frozen=True, slots=True)
class OrgJobFilter:
    """Which jobs of an org to list; what is None or empty does not narrow the list."""

    states: Sequence[str] = ()
    job_type: str | None = None
    since: datetime | None = None
    before: datetime | None = None


def read(tx: Transaction, job_id: UUID) -> Row | None:
    """One job, with the columns of `read_job`; None when this org has none of that id."""
    rows = tx.run("read_job", job_id=job_id, longest=LONGEST_FIELD)
    return rows[0] if rows else None


def listed(tx: Transaction, org_id: UUID, wanted: OrgJobFilter, *, after: Place | None, limit: int) -> Sequence[Row]:
    """Jobs with the columns of `list_jobs_of_org`, the newest first, after a place."""
    return tx.run(
        statement_for(wanted.states),
        org_id=org_id,
        states=list(wanted.states) or None,
        job_type=wanted.job_type,
        since=wanted.since,
        before=wanted.before,
        last_created_at=after.created_at if after else None,
        last_id=after.job_id if after else None,
        limit=limit,
    )


def statement_for(states: Sequence[str]) -> str:
    """The statement whose index has all jobs in these states; a plan for any states could use none of the indexes."""
    asked = frozenset(map(State, states))
    if asked and asked <= TROUBLED:
        return "list_troubled_jobs_of_org"
    if asked and asked <= UNFINISHED:
        return "list_unfinished_jobs_of_org"
    return "list_jobs_of_org"


def state(tx: Transaction, job_id: UUID) -> str | None:
    """The state of one job; None when this org has none of that id."""
    rows = tx.raw("select state from jobs where id = %(job)s", {"job": job_id})
    return str(rows[0].state) if rows else None
