"""Whether a person's press on Approve or Deny counts; the database's conditional update has the last word."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from domain.access.users import UserRole
from domain.jobs.failures import Conflict
from domain.mail.actions.status import ActionStatus

REMIND_AFTER_SHARE = 2 / 3
"""After this part of its time an action has one reminder (docs: approvals.md#expiry): of three days, a day is left."""


class Choice(StrEnum):
    """What a person can say."""

    APPROVE = "approve"
    DENY = "deny"

    @property
    def status(self) -> Literal[ActionStatus.APPROVED, ActionStatus.DENIED]:
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


@dataclass(frozen=True, slots=True)
class ActionStanding:
    """The action that a choice is about, as it stands."""

    state: ActionStatus
    expires_at: datetime | None
    is_decided: bool
    """Whether a person has approved or denied it, whatever became of it since."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a press is judged by."""

    action: ActionStanding
    is_its_place: bool
    """Whether the choice came from where the action's org is asked."""
    role: UserRole | None
    """Of the person in the action's org; None for who is not known there."""


class RefusedDecision(Conflict):
    """A choice about an action does not count, whoever made it."""

    code = "approval.closed"

    def __init__(self, refusal: Refusal, reason: str) -> None:
        """Keep the reason, for an entry point that has words of its own."""
        super().__init__(reason)
        self.refusal = refusal


def refusal_of(standing: Standing | None, now: datetime) -> Refusal | None:
    """Why a press does not count, None when it does.

    The channel is checked before the person, and the person before the state: nobody learns of another org's action.
    """
    if standing is None or not standing.is_its_place:
        return Refusal.NOT_HERE
    if standing.role is None or not standing.role.may_decide:
        return Refusal.NOT_AN_APPROVER
    return closed_to(standing.action, now)


def closed_to(action: ActionStanding, now: datetime) -> Refusal | None:
    """Why an action is not open to a choice, at any entry point; None when it is."""
    if action.state is ActionStatus.CANCELED:
        return Refusal.ENDED
    if action.state is ActionStatus.EXPIRED and not action.is_decided:
        return Refusal.EXPIRED
    if action.state is not ActionStatus.APPROVED_PENDING:
        return Refusal.DECIDED
    if action.expires_at is not None and action.expires_at <= now:
        return Refusal.EXPIRED
    return None
