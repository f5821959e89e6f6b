"""Cancels jobs with their descendants: what a canceled job has enqueued is not wanted either."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict
from domain.jobs.job import Origin, State
from storage.jobs import job_views, ledger
from storage.postgres.apart import together_or_apart
from storage.postgres.database import Database
from storage.postgres.execution import RowLocked

MOST_LEVELS = 32
"""Generations below a canceled job: far more than any job type has, and a circle of parents comes to an end."""

MOST_DESCENDANTS = 100_000
"""What one cancellation reaches: a fan-out to every account of a large fleet."""

BATCH = 1000
"""Jobs per transaction: a second's work at most, so that no lock is held for long."""


@dataclass(frozen=True, slots=True)
class CancellationResult:
    """What became of a cancellation: the new state of each job that had not ended, by how it was reached."""

    asked: dict[UUID, str]
    descendants: dict[UUID, str]


def check_cancel(job_id: UUID, state: str | None) -> None:
    """Raise `Conflict` for a job that has ended otherwise; one that was canceled may have descendants that were not."""
    if state is None or (State(state).final and state != State.CANCELED):
        raise Conflict(f"job {job_id} has ended")


def cancel(
    database: Database,
    job_ids: Sequence[UUID],
    reason: str,
    *,
    by: Origin,
    org_id: UUID | None = None,
    children: bool = True,
) -> CancellationResult:
    """Ask for jobs and, with `children`, all that descends from them to be canceled; with an org, only its jobs.

    Each batch is a transaction of its own, parents first. Whoever was cut off asks again: the descendants of a job that
    is canceled already are looked for once more. A running job may enqueue children until it sees the request. Raises
    `RowLocked` where somebody has locked descendants, when all others are canceled.
    """
    check_text("reason", reason)
    with database.ledger() as tx:
        asked = ledger.cancel(tx, job_ids, reason, by=by, org_id=org_id)
    descendants: dict[UUID, str] = {}
    if children:
        with database.ledger() as tx:
            below = job_views.descendants(tx, job_ids, org_id=org_id, levels=MOST_LEVELS, most=MOST_DESCENDANTS)

        def cancel_some(some: Sequence[tuple[UUID, UUID]]) -> None:
            with database.ledger() as tx:
                tx.wait_briefly()
                descendants.update(ledger.cancel(tx, [job_id for job_id, _ in some], reason, by=by, org_id=org_id))

        found, locked = [one for one in below if one[0] not in asked], 0
        for start in range(0, len(found), BATCH):
            left: Sequence[tuple[UUID, UUID]] = found[start : start + BATCH]
            while left:
                put_off = together_or_apart(left, itemgetter(1), cancel_some)
                left, locked = put_off.untried, locked + len(put_off.locked)
        if locked:
            raise RowLocked(f"somebody has locked {locked} of the descendants; all others are canceled")
    return CancellationResult(asked, descendants)
