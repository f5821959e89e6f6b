"""Actions that wait for a person: asked about, decided by one conditional update, reminded of, expired."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple
from uuid import UUID

from domain.approvals.decision import ActionStanding, Choice, Refusal, RefusedDecision, closed_to
from domain.approvals.outcome import outcome_of, refusal_words
from domain.approvals.timing import REMIND_AFTER_SHARE
from domain.jobs.contract import check_text
from domain.jobs.job import JsonObject, Origin
from domain.mail.actions.status import ActionStatus
from domain.payloads.approvals import NotifyPayload, ShowOutcomePayload
from storage.accounts import accounts
from storage.actions import actions
from storage.actions.actions import Enqueue, StoredAction
from storage.ledger import ledger
from storage.operators import operator_actions
from storage.postgres.database import Transaction


class WaitingAction(NamedTuple):
    """An action, and where it belongs."""

    action_id: UUID
    org_id: UUID
    account_id: UUID


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that asked about an action: number 0 the first, 1 the reminder."""

    number: int
    channel_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, by the name that the action and the audit log show, and the reason that they give."""

    name: str
    origin: Origin
    reason: str | None = None


def request(
    tx: Transaction, account_id: UUID, action_ids: Sequence[UUID], enqueue: Enqueue, *, lasts: timedelta
) -> tuple[UUID, ...]:
    """Have people asked about actions that wait: each gets an end and a job that asks. Returns those that wait."""
    waiting = tuple(row.id for row in tx.run("date_approvals", action_ids=list(action_ids), lasts=lasts))
    if waiting:
        enqueue(tx, *(NotifyPayload(account_id=account_id, action_id=one) for one in waiting))
    return waiting


def standing_of(tx: Transaction, found: StoredAction) -> ActionStanding:
    """The action as a choice about it is judged."""
    connected_at = accounts.get(tx, found.account_id).connected_at
    return ActionStanding(
        state=found.state,
        expires_at=found.approval_expires_at,
        is_decided=found.approver is not None,
        is_connected_anew=connected_at is not None and found.created_at < connected_at,
    )


def decide(tx: Transaction, found: StoredAction, choice: Choice, decider: Decider, enqueue: Enqueue) -> StoredAction:
    """Write a person's decision, with its entry in the audit log and the jobs that follow from it, all in `tx`.

    An approval releases the action: its job is enqueued here. Raises `RefusedDecision` when the choice does not count.
    The transaction is the ledger's, for the audit log.
    """
    to: Literal[ActionStatus.APPROVED, ActionStatus.DENIED] = (
        ActionStatus.APPROVED if choice is Choice.APPROVE else ActionStatus.DENIED
    )
    here, action_id = found.account_id, found.action_id
    if decider.reason is not None:
        check_text("reason", decider.reason)
    refusal = closed_to(standing_of(tx, found), choice, ledger.read_time(tx))
    if refusal is not None:
        raise _refused(found, refusal)
    if not actions.decide(tx, action_id, to, approver=decider.name, reason=decider.reason):
        # Somebody was quicker, or the time has just run out.
        now = actions.get(tx, here, action_id)
        raise _refused(now, closed_to(standing_of(tx, now), choice, ledger.read_time(tx)) or Refusal.EXPIRED)
    data: JsonObject = {"action_id": str(action_id), "kind": str(found.kind), "reason": decider.reason}
    operator_actions.record(tx, f"approval.{to}", data, by=decider.origin, org_id=found.org_id)
    if choice is Choice.APPROVE:
        actions.release(tx, here, [action_id], enqueue)
    enqueue(tx, ShowOutcomePayload(account_id=here, action_id=action_id))
    return actions.get(tx, here, action_id)


def record_refusal(tx: Transaction, org_id: UUID, by: Origin, data: JsonObject) -> None:
    """Write that somebody's choice did not count, and why."""
    operator_actions.record(tx, "approval.refused", data, by=by, org_id=org_id)


def expire(tx: Transaction, *, limit: int) -> tuple[WaitingAction, ...]:
    """End actions that nobody decided about in time, at most so many; of all orgs, as the ledger role only."""
    return tuple(WaitingAction(*row) for row in tx.run("expire_approvals", limit=limit))


def supersede(tx: Transaction, account_id: UUID, message_id: str, enqueue: Enqueue) -> tuple[UUID, ...]:
    """Cancel what earlier decisions about a message still ask a person; each question shows so. Returns the actions."""
    ended = [WaitingAction(*row) for row in tx.run("supersede_approvals", account_id=account_id, message_id=message_id)]
    if ended:
        enqueue(tx, *(ShowOutcomePayload(account_id=account_id, action_id=one.action_id) for one in ended))
    return tuple(one.action_id for one in ended)


def due_reminders(tx: Transaction, *, limit: int) -> tuple[WaitingAction, ...]:
    """Mark the actions whose one reminder is due, and return them; bounded and for the ledger role, as `expire`."""
    return tuple(WaitingAction(*row) for row in tx.run("mark_reminders", limit=limit, share=REMIND_AFTER_SHARE))


def still_waits(tx: Transaction, action_id: UUID) -> bool:
    """Whether the action waits. It is held until `tx` ends, so a decision comes before this look or after `tx`."""
    rows = tx.run("hold_action_state", action_id=action_id)
    return bool(rows) and rows[0].state == ActionStatus.APPROVED_PENDING


def record_notice(tx: Transaction, action_id: UUID, notice: Notice) -> None:
    """Keep which message asked about the action."""
    tx.run(
        "record_notice",
        action_id=action_id,
        number=notice.number,
        channel_id=notice.channel_id,
        message_id=notice.message_id,
    )


def notices(tx: Transaction, action_id: UUID) -> tuple[Notice, ...]:
    """The messages that asked about the action."""
    return tuple(Notice(*row) for row in tx.run("list_notices", action_id=action_id))


def _refused(found: StoredAction, refusal: Refusal) -> RefusedDecision:
    outcome = outcome_of(found.state, found.approver, found.why_ended)
    return RefusedDecision(refusal, f"action_id: {refusal_words(refusal, outcome)}")


def hurry(tx: Transaction) -> None:
    """Let no statement of `tx` take more than a second: Discord waits three for the whole answer."""
    tx.raw("set local statement_timeout = '1s'")
