"""Cancels jobs with their descendants: what a canceled job has enqueued is not wanted either."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.job import Origin
from storage.ledger import job_views, ledger
from storage.postgres.database import Database

MOST_LEVELS = 32
"""Generations below a canceled job: far more than any job type has, and a circle of parents comes to an end."""

MOST_DESCENDANTS = 100_000
"""What one cancellation reaches: a fan-out to every account of a large fleet."""

BATCH = 1000
"""Jobs per transaction: a second's work at most, so that no lock is held for long."""


@dataclass(frozen=True, slots=True)
class Canceled:
    """What became of a cancellation: the new state of each job that had not ended, by how it was reached."""

    asked: dict[UUID, str]
    descendants: dict[UUID, str]


def cancel(
    database: Database,
    job_ids: Sequence[UUID],
    reason: str,
    *,
    by: Origin,
    org_id: UUID | None = None,
    children: bool = True,
) -> Canceled:
    """Ask for jobs and, with `children`, all that descends from them to be canceled; with an org, only its jobs.

    Each batch is a transaction of its own, parents first. Whoever was cut off asks again: the descendants of a job that
    is canceled already are looked for once more. A running job may enqueue children until it sees the request.
    """
    check_text("reason", reason)
    with database.ledger() as tx:
        asked = ledger.cancel(tx, job_ids, reason, by=by, org_id=org_id)
    descendants: dict[UUID, str] = {}
    if children:
        with database.ledger() as tx:
            below = job_views.descendants(tx, job_ids, org_id=org_id, levels=MOST_LEVELS, most=MOST_DESCENDANTS)
        found = [job_id for job_id in below if job_id not in asked]
        for start in range(0, len(found), BATCH):
            with database.ledger() as tx:
                descendants |= ledger.cancel(tx, found[start : start + BATCH], reason, by=by, org_id=org_id)
    return Canceled(asked, descendants)
