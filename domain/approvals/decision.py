"""Whether a person's press on Approve or Deny counts; the database's conditional update has the last word."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.approvals.approvers import UserRole
from domain.mail.actions.status import ActionStatus


class Choice(StrEnum):
    """What a person can say."""

    APPROVE = "approve"
    DENY = "deny"

    @property
    def status(self) -> ActionStatus:
        """Where the choice leaves the action."""
        return ActionStatus.APPROVED if self is Choice.APPROVE else ActionStatus.DENIED


class Refusal(StrEnum):
    """Why a choice does not count."""

    NOT_HERE = "not_here"
    """No such action, or one of another org: both look the same to who asks."""
    NOT_AN_APPROVER = "not_an_approver"
    DECIDED = "decided"
    ENDED = "ended"
    """The action was canceled, as when its mailbox is disconnected: nobody is to decide any more."""
    EXPIRED = "expired"


_UNDECIDED = {ActionStatus.EXPIRED: Refusal.EXPIRED, ActionStatus.CANCELED: Refusal.ENDED}
"""Of actions that ended without a decision, or in spite of one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a choice is judged by."""

    state: ActionStatus
    expires_at: datetime | None
    is_its_place: bool
    """Whether the choice came from where the action's org is asked."""
    role: UserRole | None
    """Of the person in the action's org; None for who is not known there."""


def refusal_of(standing: Standing | None, now: datetime) -> Refusal | None:
    """Why the choice does not count, None when it does.

    Place before person before state, so that nobody learns of an action that is none of theirs.
    """
    if standing is None or not standing.is_its_place:
        return Refusal.NOT_HERE
    if standing.role is None or not standing.role.may_decide:
        return Refusal.NOT_AN_APPROVER
    if standing.state is not ActionStatus.APPROVED_PENDING:
        return _UNDECIDED.get(standing.state, Refusal.DECIDED)
    if standing.expires_at is not None and standing.expires_at <= now:
        return Refusal.EXPIRED
    return None
