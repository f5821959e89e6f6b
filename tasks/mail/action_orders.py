"""Sets recorded actions going: what goes ahead gets the job that executes it, in the transaction that records it."""

from collections.abc import Mapping
from uuid import UUID

from domain.mail.actions.status import ActionStatus
from engine.context import JobContext
from storage.actions import actions
from storage.postgres.database import Transaction


def order(ctx: JobContext, tx: Transaction, account_id: UUID, recorded: Mapping[UUID, ActionStatus]) -> None:
    """Have the queued ones of these actions executed; the others wait for a person's approval."""
    queued = [action_id for action_id, status in recorded.items() if status is ActionStatus.QUEUED]
    if queued:
        actions.release(tx, account_id, queued, ctx.enqueue)
