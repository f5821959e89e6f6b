"""Which actions go ahead and which wait for a person (docs: mail.md#triage)."""

from dataclasses import dataclass

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.requested_action import RequestedAction
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Decision

_RANK = {Danger.SAFE: 0, Danger.REVERSIBLE: 1, Danger.DANGEROUS: 2}


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
        """A checked action per action that the decision asks for, in its order; every path to an action passes here."""
        return tuple(self._check(action, decision) for action in decision.asked)

    def _check(self, action: RequestedAction, decision: Decision) -> CheckedAction:
        danger = action.danger
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
