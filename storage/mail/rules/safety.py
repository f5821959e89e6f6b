"""Safety policies: when a person is asked before an action, in a mailbox or in all of an org's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind, Danger
from domain.mail.triage.safety import SafetyPolicy
from domain.mail.triage.safety_policy import PolicyDocument, effective_policy
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy as it was saved; without an account it is the org's."""

    account_id: UUID | None
    confidence_floor: float
    always_approve: tuple[str, ...]
    approve_from: str
    updated_at: datetime
    updated_by: str

    def document(self) -> JsonObject:
        """The policy as `PolicyDocument` takes it."""
        return {
            "confidence_floor": self.confidence_floor,
            "always_approve": list(self.always_approve),
            "approve_from": self.approve_from,
        }


def of_account(tx: Transaction, account_id: UUID) -> Asked[SafetyPolicy]:
    """The policy that holds for an account, from its own and its org's."""
    return tx.ask("list_safety_policies", _effective, account_id=account_id)


def _effective(rows: Sequence[Row]) -> SafetyPolicy:
    own = next((_policy(row) for row in rows if row.account_id is not None), None)
    org = next((_policy(row) for row in rows if row.account_id is None), None)
    return effective_policy(own, org)


def listed(tx: Transaction, org_id: UUID) -> tuple[StoredPolicy, ...]:
    """What an org has saved, its own policy first."""
    return tuple(
        StoredPolicy(**(row._asdict() | {"always_approve": tuple(row.always_approve)}))
        for row in tx.run("list_org_safety_policies", org_id=org_id)
    )


def save(tx: Transaction, org_id: UUID, account_id: UUID | None, policy: PolicyDocument, *, by: str) -> None:
    """Save the policy of an account or, without one, of the org. Ledger role only."""
    values = {"account_id": account_id, "updated_by": by[:400], **policy.model_dump(mode="json")}
    tx.one("save_safety_policy", f"there is no org {org_id}", org_id=org_id, **values)


def remove(tx: Transaction, org_id: UUID, account_id: UUID | None) -> bool:
    """Remove a policy, so that the next wider one holds; false when there was none. Ledger role only."""
    return bool(tx.run("remove_safety_policy", org_id=org_id, account_id=account_id))


def _policy(row: Row) -> SafetyPolicy:
    """What is stored; a word that this version does not know makes nothing less careful."""
    known = {kind.value for kind in ActionKind}
    always = frozenset(ActionKind(name) for name in row.always_approve if name in known)
    return SafetyPolicy(row.confidence_floor, always, Danger(row.approve_from))
