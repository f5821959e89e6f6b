"""Directions as their owners keep them: standing orders to the model, in one of the four scopes."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from storage.mail.rules import rules
from storage.mail.rules.kept_rules import refuse_more
from storage.mail.rules.rules import Reach, RuleKind
from storage.postgres.database import Transaction

KINDS: tuple[RuleKind, ...] = ("direction",)

MOST_KEPT = 500
"""Directions of an org. Those in scope are told to the model with every message."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction; `scope_ref` is the domain or address that a narrow scope names."""

    direction_id: UUID
    account_id: UUID | None
    scope: str
    scope_ref: str | None
    content: str
    enabled: bool
    created_at: datetime


def add(tx: Transaction, org_id: UUID, reach: Reach, content: str) -> UUID:
    """Save a direction; raises `Forbidden` above the number that an org may keep."""
    added = rules.add_direction(tx, org_id, reach, content=content)
    refuse_more(tx, org_id, KINDS, MOST_KEPT)
    return added


def listed(
    tx: Transaction, org_id: UUID, *, account_id: UUID | None = None, limit: int = MOST_KEPT
) -> tuple[Direction, ...]:
    """An org's directions, widest scope first; with an account, those that apply to it."""
    of = {"org_id": org_id, "kinds": list(KINDS), "account_id": account_id}
    return tuple(
        Direction(row.rule_id, row.account_id, row.scope, row.scope_ref, row.content, row.enabled, row.created_at)
        for row in tx.run("list_kept_rules", rule_id=None, enabled=None, limit=limit, **of)
    )


def remove(tx: Transaction, org_id: UUID | None, direction_id: UUID) -> UUID:
    """Remove a direction, of the org if one is given; whose it was. Raises `Gone`."""
    rule = {"rule_id": direction_id, "kinds": list(KINDS)}
    removed = tx.one("remove_rule", f"there is no direction {direction_id}", org_id=org_id, **rule)
    return UUID(str(removed.org_id))
