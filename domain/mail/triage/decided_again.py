"""What a newer decision about a message still asks for, after what became of the actions of earlier ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from domain.mail.actions.action import Action
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.safety import CheckedAction

REFUSED_BY_PERSON = {
    ActionStatus.UNDONE: "its person took it back",
    ActionStatus.DENIED: "its person has denied it",
}
"""A person has seen what the action does and did not want it; another decision of the same kind is no news to them."""

UNDER_WAY = frozenset({ActionStatus.QUEUED, ActionStatus.APPROVED, ActionStatus.EXECUTING})
"""Its job does it already: a second one would forward or answer twice.

A disconnection ends these with all that waits in the mailbox. What is still executing after it may have been sent."""


@dataclass(frozen=True, slots=True)
class PastAction:
    """An action on the message; None for one that this release cannot read."""

    action: Action | None
    status: ActionStatus
    asked_at: datetime


class RefusedAction(NamedTuple):
    """An action that is not asked for again, and why."""

    kind: str
    why: str


class WantedActions(NamedTuple):
    """What is recorded of a newer decision's actions."""

    actions: tuple[CheckedAction, ...]
    left_out: tuple[RefusedAction, ...]


def still_wanted(checked: Iterable[CheckedAction], earlier: Sequence[PastAction]) -> WantedActions:
    """Leave out what a person undid or denied, and what is under way; of equal earlier actions the last one counts."""
    wanted, left_out = [], []
    for one in checked:
        same = [each for each in earlier if each.action == one.action]
        why = _why_not(max(same, key=lambda each: each.asked_at)) if same else None
        if why is None:
            wanted.append(one)
        else:
            left_out.append(RefusedAction(str(one.action.kind), why))
    return WantedActions(tuple(wanted), tuple(left_out))


def newly_wanted(checked: Iterable[CheckedAction], earlier: Sequence[PastAction]) -> WantedActions:
    """As `still_wanted`, where nothing supersedes what waits: a person is not asked twice about the same action."""
    waiting = [one.action for one in earlier if one.status is ActionStatus.APPROVED_PENDING]
    found = still_wanted(checked, earlier)
    again = [one for one in found.actions if one.action in waiting]
    return WantedActions(
        tuple(one for one in found.actions if one not in again),
        (*found.left_out, *(RefusedAction(str(one.action.kind), "it waits for a person already") for one in again)),
    )


def _why_not(last: PastAction) -> str | None:
    if last.status in UNDER_WAY:
        return f"it is {last.status} by an earlier decision"
    return REFUSED_BY_PERSON.get(last.status)
