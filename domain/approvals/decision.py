"""Whether a person's press on Approve or Deny counts; the database's conditional update has the last word."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.jobs.failures import Conflict
from domain.mail.actions.status import ActionStatus
from domain.orgs.access.users import MAY_DECIDE, UserRole

REMIND_AFTER_SHARE = 2 / 3
"""After this part of its time a question has one reminder: of three days, a day is left
(docs: questions-and-decisions.md#expiry)."""


class Choice(StrEnum):
    """What a person can say."""

    APPROVE = "approve"
    DENY = "deny"


class ApprovalState(StrEnum):
    """Where the question stands that people were asked, whatever it is about."""

    WAITING = "waiting"
    UNASKED = "unasked"
    """An action that goes ahead without a decision."""
    APPROVED = "approved"
    DENIED = "denied"
    LAPSED = "lapsed"
    """Approved, and not begun in time."""
    EXPIRED = "expired"
    CANCELED = "canceled"


OF_ACTIONS: Mapping[ActionStatus, ApprovalState] = {
    ActionStatus.APPROVED_PENDING: ApprovalState.WAITING,
    ActionStatus.QUEUED: ApprovalState.UNASKED,
    ActionStatus.APPROVED: ApprovalState.APPROVED,
    # What became of it since is the action's story. A person decided so.
    ActionStatus.EXECUTING: ApprovalState.APPROVED,
    ActionStatus.DONE: ApprovalState.APPROVED,
    ActionStatus.FAILED: ApprovalState.APPROVED,
    ActionStatus.UNDONE: ApprovalState.APPROVED,
    ActionStatus.DENIED: ApprovalState.DENIED,
    ActionStatus.EXPIRED: ApprovalState.EXPIRED,
    ActionStatus.CANCELED: ApprovalState.CANCELED,
}
"""Of an action that nobody has decided about; one that was approved and has expired is `LAPSED`."""


class Refusal(StrEnum):
    """Why a choice does not count."""

    NOT_HERE = "not_here"
    """No such question, or another org's: both look the same to who asks."""
    NOT_AN_APPROVER = "not_an_approver"
    DECIDED = "decided"
    ENDED = "ended"
    """It was canceled, as when its mailbox is disconnected: nobody is to decide any more."""
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class ApprovalStanding:
    """The question that a choice is about, as it stands."""

    state: ApprovalState
    expires_at: datetime | None
    decider: str | None = None
    """Who decided, in the words of the record."""
    reason: str | None = None
    """What the person who decided wrote, or why it was canceled."""


@dataclass(frozen=True, slots=True)
class PressFacts:
    """What a press is judged by."""

    approval: ApprovalStanding
    is_its_place: bool
    """Whether the choice came from where the question was asked."""
    role: UserRole | None
    """Of the person in the question's org; None for who is not known there."""
    deciders: frozenset[UserRole] = MAY_DECIDE
    """Whose choice counts."""


class RefusedDecision(Conflict):
    """A choice does not count, whoever made it."""

    code = "approval.closed"

    def __init__(self, refusal: Refusal, reason: str) -> None:
        """Keep the reason, for an entry point that has words of its own."""
        super().__init__(reason)
        self.refusal = refusal


def action_state(status: ActionStatus, *, is_decided: bool) -> ApprovalState:
    """Where the question about an action stands; `is_decided` when a person has approved or denied it."""
    if status is ActionStatus.EXPIRED and is_decided:
        return ApprovalState.LAPSED
    return OF_ACTIONS[status]


def refusal_of(standing: PressFacts | None, now: datetime) -> Refusal | None:
    """Why a press does not count, None when it does.

    The place is checked before the person, and the person before the state: nobody learns of another org's question.
    """
    if standing is None or not standing.is_its_place:
        return Refusal.NOT_HERE
    if standing.role is None or standing.role not in standing.deciders:
        return Refusal.NOT_AN_APPROVER
    return closed_to(standing.approval, now)


def closed_to(approval: ApprovalStanding, now: datetime) -> Refusal | None:
    """Why a question is not open to a choice, at any entry point; None when it is."""
    if approval.state is ApprovalState.WAITING:
        is_over = approval.expires_at is not None and approval.expires_at <= now
        return Refusal.EXPIRED if is_over else None
    if approval.state is ApprovalState.CANCELED:
        return Refusal.ENDED
    return Refusal.EXPIRED if approval.state is ApprovalState.EXPIRED else Refusal.DECIDED
