"""Sets recorded actions going: what goes ahead gets the job that executes it, in the transaction that records it."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from domain.mail.actions.status import ActionStatus
from engine.context import JobContext
from storage.actions import actions
from storage.approvals import approvals
from storage.postgres.database import Transaction


def order(ctx: JobContext, tx: Transaction, account_id: UUID, recorded: Mapping[UUID, ActionStatus]) -> None:
    """Have the queued ones of these actions executed, and people asked about those that wait for approval."""
    queued = [action_id for action_id, status in recorded.items() if status is ActionStatus.QUEUED]
    if queued:
        actions.release(tx, account_id, queued, ctx.enqueue)
    waiting = [action_id for action_id, status in recorded.items() if status is ActionStatus.APPROVED_PENDING]
    if waiting:
        lasts = timedelta(seconds=ctx.settings.approval_expires_after_s)
        approvals.request(tx, account_id, waiting, ctx.enqueue, lasts=lasts)
