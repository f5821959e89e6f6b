"""The undo of an action: an action of its own, linked to the one that it takes back; one undo wins."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Busy, Conflict, Transient
from domain.jobs.job import ClaimedJob
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.requested_action import VERSION, Undo
from domain.mail.actions.undo_hint import irreversible
from storage.mail.actions import actions
from storage.postgres.database import Transaction
from storage.postgres.execution import StatementAborted

LOOK_AGAIN_AFTER = timedelta(seconds=1)
"""A claim, a cancellation or the relay has a job locked for milliseconds."""


class WakeCanceled(StrEnum):
    """What became of the job that would wake a snoozed message. The undo goes on whatever it was."""

    CANCELED = "canceled"
    RUNNING = "running"
    """It is at work, and does to the message what the undo does."""
    RAN = "ran"
    GONE = "gone"
    """It is past its retention, or never was."""


@dataclass(frozen=True, slots=True)
class UndoAction:
    """The undo's own action; `created` is false when there was one."""

    undo_id: UUID
    created: bool


def begin(tx: Transaction, account_id: UUID, original_id: UUID, job_id: UUID, *, requested_by: str) -> UndoAction:
    """Make the undo's action and its link in one statement, or find those that there are.

    A new one is executing, for this job. Raises `Transient` when another transaction made one in the same moment.
    """
    undo = Undo(original_action_id=original_id)
    rows = tx.run(
        "begin_undo",
        account_id=account_id,
        original_id=original_id,
        job_id=job_id,
        parameters=Jsonb(undo.parameters),
        version=VERSION,
        requested_by=requested_by[:200],
    )
    if not rows:
        raise Transient("another job has just begun to undo the action", code="action.undo_begun")
    return UndoAction(rows[0].undo_id, rows[0].created)


def cancel_wake(tx: Transaction, job: ClaimedJob, wake_job: UUID) -> WakeCanceled:
    """Cancel the job that would wake a snoozed message; the transaction holds the claim of the undo's job.

    Raises `Busy` where somebody else has locked that job: to wait with a job in hand could be to wait for each
    other (docs: life-of-a-job.md#locks-on-jobs).
    """
    try:
        rows = tx.run(
            "cancel_wake", held_job=job.job_id, held_token=job.token, wake_job=wake_job, why="the snooze was undone"
        )
    except StatementAborted as error:
        raise Busy("somebody else moves the job that would wake the message", wait=LOOK_AGAIN_AFTER) from error
    return WakeCanceled(rows[0].outcome)


def finish(tx: Transaction, original_id: UUID, undo_id: UUID, job_id: UUID) -> None:
    """Write that an undo is done and its action undone; raises `Conflict` when either has moved meanwhile."""
    actions.finish(tx, undo_id, job_id, irreversible(ActionKind.UNDO))
    if not tx.run("mark_undone", action_id=original_id):
        raise Conflict(f"action {original_id} is not done any more", code="action.not_undoable")
