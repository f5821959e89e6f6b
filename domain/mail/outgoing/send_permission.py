"""Whether an order to send may be carried out, and when not, why (docs: sending.md#who-may-send)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Forbidden, Invalid
from domain.jobs.job import Cancel, Snooze
from domain.mail.actions.kinds import SENDING, ActionKind
from domain.mail.actions.status import ActionStatus
from domain.mail.outgoing.automatic_answers import why_not
from domain.mail.outgoing.composing import subject_of
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import Automation
from domain.payloads.outbound import SendPayload

NOT_ALLOWED = "outbound.not_allowed"
NO_ACTION = "is no action of this account"
MESSAGE_TYPES = {ActionKind.FORWARD: "forward", ActionKind.AUTO_REPLY: "reply"}
"""What an action of each kind sends; each may send a new mail of the same words instead."""
CALLERS = ("user:", "api_key:")
"""How `requested_by` begins for an action that somebody outside the fleet has asked for by name."""
OVER = frozenset(
    {ActionStatus.DENIED, ActionStatus.EXPIRED, ActionStatus.CANCELED, ActionStatus.UNDONE, ActionStatus.DONE}
)
"""Nothing is sent for these any more. A failed one may be tried again."""


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """What the rules must know of the action that an order names."""

    account_id: UUID
    kind: ActionKind
    message_id: str
    status: ActionStatus
    approver: str | None
    requested_by: str | None


@dataclass(frozen=True, slots=True)
class OriginalFacts:
    """The stored message that is answered or forwarded."""

    thread_id: str
    parsed: ParsedMessage
    automation: Automation | None


def check_action(order: SendPayload, action: ActionFacts) -> None:
    """Raise `Invalid` with the field for an action of another account, or one that sends no such mail."""
    if action.account_id != order.account_id:
        raise Invalid("payload.action_id", NO_ACTION)
    if action.kind not in SENDING:
        raise Invalid("payload.action_id", f"is an action of the kind {action.kind}, which sends nothing")
    if order.message_type not in {"new", MESSAGE_TYPES[action.kind]}:
        raise Invalid("payload.message_type", f"does not fit the action, which is a {action.kind}")
    if order.original_message_id not in {None, action.message_id}:
        raise Invalid("payload.original_message_id", "is another message than the action's")


def check_original(order: SendPayload, original: OriginalFacts) -> None:
    """Raise `Invalid` with the field for a reply into another thread, and for a subject that is another mail's."""
    if order.message_type == "reply" and order.thread_id not in {None, original.thread_id}:
        raise Invalid("payload.thread_id", "is another thread than the original's")
    subject_of(order, original.parsed)


def is_automatic(action: ActionFacts) -> bool:
    """Whether neither a person has approved the action, nor a caller outside the fleet has asked for it."""
    asked_by_somebody = action.requested_by is not None and action.requested_by.startswith(CALLERS)
    return action.approver is None and not asked_by_somebody


def check_automatic(
    order: SendPayload, original: OriginalFacts | None, own: Collection[str], *, send_allowed: bool
) -> None:
    """Raise `Forbidden` for a mail that must not leave without approval; `own` are the account's addresses."""
    if not send_allowed:
        raise Forbidden("the account does not let mail leave that nobody has approved", code=NOT_ALLOWED)
    parsed, automation = (original.parsed, original.automation) if original else (None, None)
    reason = why_not(order, parsed, automation, own)
    if reason is not None:
        raise Forbidden(f"not without approval: {reason}", code=NOT_ALLOWED)


def why_stopped(status: ActionStatus, paused_until: datetime | None, now: datetime) -> Cancel | Snooze | None:
    """Why nothing is sent now although everything fits; raises `Forbidden` for an action that waits for a person."""
    if status is ActionStatus.APPROVED_PENDING:
        raise Forbidden("action_id: the action waits for a person's approval", code="action.not_approved")
    if status in OVER:
        return Cancel(f"the action is {status}")
    if paused_until is None:
        return None
    return Snooze(max(paused_until, now), "the mailbox may send no more mail for a while")
