"""Which actions go ahead and which wait for a person (docs: mail.md#triage)."""

from dataclasses import dataclass
from enum import StrEnum

from domain.mail.actions.requested_action import ActionKind, RequestedAction
from domain.mail.triage.classification import Decision


class Danger(StrEnum):
    """What an action can spoil."""

    SAFE = "safe"
    """Changes nothing a person would miss."""
    REVERSIBLE = "reversible"
    """Takes mail out of sight; undo brings it back."""
    DANGEROUS = "dangerous"
    """Cannot be taken back, or leaves the mailbox."""


class ActionStatus(StrEnum):
    """How an action begins its life."""

    QUEUED = "queued"
    APPROVED_PENDING = "approved_pending"
    """Waits for a person's approval."""


_DANGER = {
    ActionKind.APPLY_LABEL: Danger.SAFE,
    ActionKind.REMOVE_LABEL: Danger.SAFE,
    ActionKind.MARK_READ: Danger.SAFE,
    ActionKind.MARK_UNREAD: Danger.SAFE,
    ActionKind.STAR: Danger.SAFE,
    ActionKind.UNSTAR: Danger.SAFE,
    ActionKind.RESTORE: Danger.SAFE,
    ActionKind.ARCHIVE: Danger.REVERSIBLE,
    ActionKind.SNOOZE: Danger.REVERSIBLE,
    ActionKind.TRASH: Danger.REVERSIBLE,
}
_RANK = {Danger.SAFE: 0, Danger.REVERSIBLE: 1, Danger.DANGEROUS: 2}


def danger_of(kind: ActionKind) -> Danger:
    """How dangerous an action is; one that has no entry is dangerous."""
    return _DANGER.get(kind, Danger.DANGEROUS)


def danger_rank(danger: Danger) -> int:
    """0 for safe, more for worse."""
    return _RANK[danger]


@dataclass(frozen=True, slots=True)
class SafetyPolicy:
    """When a person is asked before an action. Dangerous actions wait whatever the policy says."""

    confidence_floor: float = 0.7
    always_approve: frozenset[ActionKind] = frozenset()
    """Actions the owner wants to be asked about every time."""
    approve_from: Danger = Danger.DANGEROUS
    """A person is asked about actions of this danger or more."""


@dataclass(frozen=True, slots=True)
class CheckedAction:
    """One action, how it begins, and every reason why it waits."""

    action: RequestedAction
    status: ActionStatus
    danger: Danger
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SafetyEnforcer:
    """Checks the actions of a decision. Each reason can only add caution; nothing here takes caution away."""

    policy: SafetyPolicy = SafetyPolicy()

    def check(self, decision: Decision) -> tuple[CheckedAction, ...]:
        """A checked action per action, in the decision's order; every path to an action passes here."""
        return tuple(self._check(action, decision) for action in decision.actions)

    def _check(self, action: RequestedAction, decision: Decision) -> CheckedAction:
        danger = danger_of(action.kind)
        reasons = tuple(reason for applies, reason in self._doubts(action, danger, decision) if applies)
        status = ActionStatus.APPROVED_PENDING if reasons else ActionStatus.QUEUED
        return CheckedAction(action, status, danger, reasons)

    def _doubts(self, action: RequestedAction, danger: Danger, decision: Decision) -> tuple[tuple[bool, str], ...]:
        floor = self.policy.confidence_floor
        return (
            (danger is Danger.DANGEROUS, f"{action.kind} is dangerous"),
            (_RANK[danger] >= _RANK[self.policy.approve_from], f"the account's owner is asked about {danger} actions"),
            (action.kind in self.policy.always_approve, f"{action.kind} is always approved by a person"),
            (not decision.confidence >= floor, f"confidence {decision.confidence:.2f} is below {floor:.2f}"),
            (decision.needs_review, "the decision needs review"),
            (decision.caution, "the model asked for caution"),
        )
