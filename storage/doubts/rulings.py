"""What a person found out about an effect that nobody else can know of."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject, Origin
from domain.redaction import redact
from storage.audit import deeds
from storage.ledger import dead_letters
from storage.postgres.database import Transaction
from storage.postgres.looking import Looked

MOST_LOOKED_AT = 5_000
"""How many unknown effects of all orgs a page looks at for those of one: they are tens as a rule.

A look at a large part of tens of thousands would be planned as a read and sort of all of them."""


@dataclass(frozen=True, slots=True)
class UnknownEffect:
    """An effect of which nobody knows whether it happened."""

    org_id: UUID
    key: str
    strategy: str
    job_type: str | None
    job_id: UUID
    since: datetime
    reason: str | None


def listed(
    tx: Transaction,
    *,
    org_id: UUID | None,
    before: datetime | None = None,
    limit: int,
    most_looked_at: int = MOST_LOOKED_AT,
) -> Looked[UnknownEffect]:
    """Effects that are unknown since before a time, of one org or all: the newest first, one more than `limit`."""
    rows = tx.run("look_back_at_unknown_effects", before=before, most=most_looked_at)
    reached = rows[0].reached if rows else None
    found = tx.run("list_unknown_effects", org_id=org_id, before=before, reached=reached, limit=limit + 1)
    return Looked([UnknownEffect(*row) for row in found], reached)


def rule(tx: Transaction, org_id: UUID, key: str, *, happened: bool, result: JsonObject, by: Origin) -> None:
    """Write a person's finding down; raises `Gone` when the org has no unknown effect of that key."""
    if not dead_letters.rule_effect(tx, org_id, key, happened=happened, result=result):
        raise Gone(f"there is no unknown effect {key}")
    facts = {"key": key, "happened": happened, "result": redact(result)}
    deeds.record(tx, "effect.ruled", facts, by=by, org_id=org_id)
