"""A mailbox's settings and safety policy as its owners see and change them."""

from collections.abc import Mapping
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.mail.triage.safety import SafetyPolicy
from domain.mail.triage.safety_policy import PolicyDocument, parse_policy
from storage.mail.accounts import accounts
from storage.mail.rules import safety
from storage.postgres.database import Transaction


def settings_of(tx: Transaction, account_id: UUID) -> JsonObject:
    """Everything that is set for a mailbox; raises `Gone` when there is none that this transaction may see."""
    account = accounts.get(tx, account_id)
    kept = account.settings
    return {
        "account_id": str(account_id),
        "label_parent": kept.label_parent,
        "send_allowed": kept.send_allowed,
        "agent_enabled": kept.agent_enabled,
        "model_actions": [kind.value for kind in kept.model_actions],
        "safety": _document(safety.of_account(tx, account_id).answer),
    }


def change_policy(
    tx: Transaction, org_id: UUID, account_id: UUID | None, changes: Mapping[str, object], *, by: str
) -> PolicyDocument:
    """Change some fields of the policy of a mailbox or, without one, of the org, and keep the others.

    Raises `Invalid(field, reason)`. Ledger role only.
    """
    kept = next((one for one in safety.listed(tx, org_id) if one.account_id == account_id), None)
    before = kept.document() if kept else {}
    policy = parse_policy(before | dict(changes))
    safety.save(tx, org_id, account_id, policy, by=by)
    return policy


def _document(policy: SafetyPolicy) -> JsonObject:
    return {
        "confidence_floor": policy.confidence_floor,
        "always_approve": sorted(kind.value for kind in policy.always_approve),
        "approve_from": policy.approve_from.value,
    }
