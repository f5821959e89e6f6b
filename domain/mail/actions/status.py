"""The life of an action: one table of the allowed moves (docs: actions.md#statuses)."""

from enum import StrEnum


class ActionStatus(StrEnum):
    """Where an action stands."""

    QUEUED = "queued"
    """It goes ahead: its job waits."""
    APPROVED_PENDING = "approved_pending"
    """Waits for a person's approval."""
    APPROVED = "approved"
    """A person has released it: its job waits."""
    EXECUTING = "executing"
    DONE = "done"
    FAILED = "failed"
    """Not done, with the error. An operator's retry may execute it again."""
    DENIED = "denied"
    EXPIRED = "expired"
    """Nobody approved it in time, or its job was not begun in time. It was not executed."""
    UNDONE = "undone"
    CANCELED = "canceled"


MOVES: frozenset[tuple[ActionStatus, ActionStatus]] = frozenset(
    {
        (ActionStatus.QUEUED, ActionStatus.EXECUTING),
        (ActionStatus.QUEUED, ActionStatus.FAILED),  # its job died before it could begin
        (ActionStatus.QUEUED, ActionStatus.EXPIRED),
        (ActionStatus.QUEUED, ActionStatus.CANCELED),
        (ActionStatus.APPROVED_PENDING, ActionStatus.APPROVED),
        (ActionStatus.APPROVED_PENDING, ActionStatus.DENIED),
        (ActionStatus.APPROVED_PENDING, ActionStatus.EXPIRED),
        (ActionStatus.APPROVED_PENDING, ActionStatus.CANCELED),
        (ActionStatus.APPROVED, ActionStatus.EXECUTING),
        (ActionStatus.APPROVED, ActionStatus.FAILED),
        (ActionStatus.APPROVED, ActionStatus.EXPIRED),
        (ActionStatus.APPROVED, ActionStatus.CANCELED),
        (ActionStatus.EXECUTING, ActionStatus.DONE),
        (ActionStatus.EXECUTING, ActionStatus.FAILED),
        (ActionStatus.EXECUTING, ActionStatus.CANCELED),
        (ActionStatus.FAILED, ActionStatus.EXECUTING),  # a job that was retried, or an undo that is asked for again
        (ActionStatus.DONE, ActionStatus.UNDONE),
    }
)

MAY_BEGIN = frozenset(before for before, after in MOVES if after is ActionStatus.EXECUTING)
"""From these a job may take an action up. A job that comes again finds its own action executing."""


def status_after_end(
    before: ActionStatus, job_state: str, reason: str | None, *, is_undo: bool = False
) -> ActionStatus:
    """Where the end of its job leaves an action that the job did not finish itself.

    An undo has failed in any case: only a failed one may be asked for again, and there is one per action.

    The end-of-job hook `postroom.action_job_ended` does the same in SQL; a test compares the two.
    """
    if before not in {ActionStatus.QUEUED, ActionStatus.APPROVED, ActionStatus.EXECUTING}:
        return before
    if job_state != "canceled" or is_undo:
        return ActionStatus.FAILED
    if reason == "expired" and before is not ActionStatus.EXECUTING:
        return ActionStatus.EXPIRED
    return ActionStatus.CANCELED
