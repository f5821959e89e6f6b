"""Which actions go ahead and which wait for a person (docs: triage.md)."""

from collections.abc import Iterable
from dataclasses import dataclass

from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.actions.requested_action import RequestedAction
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.classification import Decision

Doubt = tuple[bool, str]
"""Whether a reason to ask a person applies, and the reason."""

_RANK = {Danger.SAFE: 0, Danger.REVERSIBLE: 1, Danger.DANGEROUS: 2}


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
        """A checked action per action that the decision asks for, in its order; every path to an action passes here."""
        return tuple(self._check(action, decision) for action in decision.asked)

    def check_request(self, action: RequestedAction) -> CheckedAction:
        """Check an action that a caller asks for by name: there is no decision that could be in doubt."""
        return _checked(action, self._policy_doubts(action))

    def _check(self, action: RequestedAction, decision: Decision) -> CheckedAction:
        floor = self.policy.confidence_floor
        return _checked(
            action,
            (
                *self._policy_doubts(action),
                (not decision.confidence >= floor, f"confidence {decision.confidence:.2f} is below {floor:.2f}"),
                (decision.needs_review, "the decision needs review"),
                (decision.caution, "the model asked for caution"),
            ),
        )

    def _policy_doubts(self, action: RequestedAction) -> tuple[Doubt, ...]:
        return (
            (action.danger is Danger.DANGEROUS, f"{action.kind} is dangerous"),
            (
                _RANK[action.danger] >= _RANK[self.policy.approve_from],
                f"the account's owner is asked about {action.danger} actions",
            ),
            (action.kind in self.policy.always_approve, f"{action.kind} is always approved by a person"),
        )


def _checked(action: RequestedAction, doubts: Iterable[Doubt]) -> CheckedAction:
    reasons = tuple(reason for applies, reason in doubts if applies)
    status = ActionStatus.APPROVED_PENDING if reasons else ActionStatus.QUEUED
    return CheckedAction(action, status, action.danger, reasons)
