"""What a person found out about an effect that nobody else can know of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject, Origin
from domain.redaction import redact
from storage.audit import deeds
from storage.postgres.database import Transaction


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


def listed(tx: Transaction, *, org_id: UUID | None, limit: int) -> Sequence[UnknownEffect]:
    """Effects of which nobody knows whether they happened; of one org, or of all."""
    return [UnknownEffect(*row) for row in tx.run("list_unknown_effects", org_id=org_id, limit=limit)]


def rule(tx: Transaction, org_id: UUID, key: str, *, happened: bool, result: JsonObject, by: Origin) -> None:
    """Write a person's finding down; raises `Gone` when the org has no unknown effect of that key."""
    status = "succeeded" if happened else "failed"
    if not tx.run("rule_effect", org_id=org_id, key=key, status=status, result=Jsonb(result) if happened else None):
        raise Gone(f"there is no unknown effect {key}")
    facts = {"key": key, "happened": happened, "result": redact(result)}
    deeds.record(tx, "effect.ruled", facts, by=by, org_id=org_id)
