"""Records a decision and sets its actions going, in one transaction."""

from collections.abc import Sequence
from uuid import UUID

from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Decision
from domain.mail.triage.safety import CheckedAction
from engine.context import JobContext
from storage.actions import actions
from storage.mail import decisions
from storage.mail.decisions import Origins
from storage.postgres.database import Transaction


def record(  # noqa: PLR0913 - a decision, where it belongs, and where it comes from
    ctx: JobContext,
    tx: Transaction,
    account_id: UUID,
    message_id: str,
    decision: Decision,
    *,
    checked: Sequence[CheckedAction],
    origins: Origins,
) -> None:
    """Record a decision with its actions, and have the queued ones executed; the others wait for a person."""
    recorded = decisions.record(tx, account_id, message_id, decision, actions=checked, origins=origins)
    pairs = zip(recorded.action_ids, checked, strict=True)
    queued = [action_id for action_id, action in pairs if action.status is ActionStatus.QUEUED]
    if queued:
        actions.release(tx, account_id, queued, ctx.enqueue)
