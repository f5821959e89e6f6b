"""What a person found out about an effect that nobody else can know of."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from storage.jobs.replays import dead_letters
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.looking import FIRST_TIME, LAST_TIME, Looked

MOST_LOOKED_AT = 5_000
"""How many unknown effects of all orgs a page looks at for those of one: they are tens as a rule.

A look at a large part of tens of thousands would be planned as a read and sort of all of them."""


class EffectPosition(NamedTuple):
    """Where an unknown effect is in a list of them."""

    since: datetime
    tiebreak: UUID


def listed(
    tx: Transaction,
    *,
    org_id: UUID | None,
    after: EffectPosition | None = None,
    limit: int,
    most_looked_at: int = MOST_LOOKED_AT,
) -> Looked[Row]:
    """Unknown effects after a position, of one org or all: the newest first, one more than `limit`.

    The tiebreak orders those that are unknown since the same moment.
    """
    at, tiebreak = after or EffectPosition(LAST_TIME, UUID(int=0))
    rows = tx.run("look_back_at_unknown_effects", at=at, most=most_looked_at)
    reached = rows[0].reached if rows else None
    values = {"org_id": org_id, "at": at, "tiebreak": tiebreak, "reached": reached or FIRST_TIME}
    found = tx.run("list_unknown_effects", limit=limit + 1, **values)
    return Looked(found, reached)


def rule(tx: Transaction, org_id: UUID, key: str, *, happened: bool, result: JsonObject) -> None:
    """Write a person's finding down; raises `Gone` when the org has no unknown effect of that key."""
    if not dead_letters.rule_effect(tx, org_id, key, happened=happened, result=result):
        raise Gone(f"there is no unknown effect {key}")
