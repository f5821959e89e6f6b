"""Sets recorded actions going: what goes ahead gets the job that executes it, in the transaction that records it."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Gone, Invalid
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Decision
from domain.mail.triage.decided_again import PastAction, RefusedAction, newly_wanted, still_wanted
from domain.mail.triage.safety import CheckedAction
from domain.payloads.actions import OrderedBy
from engine.context import JobContext
from storage.approvals import approvals
from storage.mail import decisions
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from storage.mail.decisions import Origins
from storage.postgres.database import Transaction


def order(ctx: JobContext, tx: Transaction, account_id: UUID, recorded: Mapping[UUID, ActionStatus]) -> None:
    """Have the queued ones of these actions executed, and people asked about those that wait for approval."""
    queued = [action_id for action_id, status in recorded.items() if status is ActionStatus.QUEUED]
    if queued:
        actions.release(tx, account_id, queued, ctx.enqueue, by=OrderedBy.DECISION)
    waiting = [action_id for action_id, status in recorded.items() if status is ActionStatus.APPROVED_PENDING]
    if waiting:
        lasts = timedelta(seconds=ctx.settings.approval_expires_after_s)
        approvals.request(tx, account_id, waiting, ctx.enqueue, lasts=lasts)


def record(  # noqa: PLR0913 - a decision, where it belongs, and where it comes from
    ctx: JobContext,
    tx: Transaction,
    account_id: UUID,
    message_id: str,
    decision: Decision,
    *,
    checked: Sequence[CheckedAction],
    origins: Origins,
    is_newer: bool = False,
) -> tuple[RefusedAction, ...]:
    """Record a decision with its checked actions, and set them going.

    With `is_newer` the message was decided before: what still waits for a person is asked anew or not at all. Returns
    the actions that are left out, because a person did not want them, or an earlier job is at them.
    """
    if is_newer:
        # First, so that a decision of a person that comes between is seen below.
        approvals.supersede(tx, account_id, message_id, ctx.enqueue)
    earlier = [_earlier(one) for one in actions.of_message(tx, account_id, message_id)] if checked else []
    wanted, left_out = still_wanted(checked, earlier)
    made = decisions.record(tx, account_id, message_id, decision, actions=wanted, origins=origins)
    if wanted:
        order(ctx, tx, account_id, dict(zip(made.answer.action_ids, (one.status for one in wanted), strict=True)))
    return left_out


def request(
    ctx: JobContext, tx: Transaction, account_id: UUID, wanted: Sequence[tuple[str, CheckedAction]]
) -> tuple[ActionStatus, ...]:
    """Record actions that a job asks for without a decision about their messages, by message id, and set them going.

    Returns how each begins that was recorded: not those about a message that is gone, nor what a person did not want or
    is being asked about, nor what is under way.
    """
    recorded: dict[UUID, ActionStatus] = {}
    for message_id, checked in wanted:
        earlier = [_earlier(one) for one in actions.of_message(tx, account_id, message_id)]
        found = newly_wanted([checked], earlier)
        for kind, why in found.left_out:
            ctx.log.info("action_left_out", kind=kind, reason=why)
        for one in found.actions:
            try:
                made = actions.request(tx, account_id, message_id, one, requested_by=f"job:{ctx.job.job_id}")
            except Gone as gone:
                ctx.log.info("action_left_out", kind=str(one.action.kind), reason=gone.reason)
                continue
            recorded[made] = one.status
    order(ctx, tx, account_id, recorded)
    return tuple(recorded.values())


def order_ended(ctx: JobContext, account_id: UUID, moved: Collection[str]) -> None:
    """Set going again what jobs had asked for in an account that was disconnected and is connected again.

    Not on messages that their person has `moved` out of the inbox meanwhile.
    """
    while True:
        with ctx.tx() as tx:
            again = actions.order_ended(tx, account_id, moved)
            if again is None:
                return
            order(ctx, tx, account_id, again)
        ctx.check()


def _earlier(stored: StoredAction) -> PastAction:
    try:
        action = stored.action
    except Invalid:
        action = None
    return PastAction(action, stored.state, stored.created_at)
