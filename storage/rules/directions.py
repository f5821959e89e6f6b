"""Directions as their owners keep them: standing orders to the model, in one of the four scopes."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Forbidden, Gone
from storage.postgres.database import Transaction
from storage.rules import rules
from storage.rules.rules import Reach

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
    tx.raw("select pg_advisory_xact_lock(hashtextextended('postroom rules: ' || %(org)s, 0))", {"org": str(org_id)})
    if int(tx.run("count_directions", org_id=org_id)[0].directions) >= MOST_KEPT:
        raise Forbidden(f"an org keeps at most {MOST_KEPT} directions")
    return rules.add_direction(tx, org_id, reach, content=content)


def listed(
    tx: Transaction, org_id: UUID, *, account_id: UUID | None = None, limit: int = MOST_KEPT
) -> tuple[Direction, ...]:
    """An org's directions, widest scope first; with an account, those that apply to it."""
    rows = tx.run("list_kept_directions", org_id=org_id, account_id=account_id, limit=limit)
    return tuple(Direction(**row._asdict()) for row in rows)


def remove(tx: Transaction, org_id: UUID, direction_id: UUID) -> None:
    """Remove a direction; raises `Gone`."""
    if not tx.run("remove_direction", org_id=org_id, direction_id=direction_id):
        raise Gone(f"there is no direction {direction_id}")
