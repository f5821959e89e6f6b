"""Which orgs are in which ledger, as each cell's own says."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from storage.postgres.database import Transaction


def come(tx: Transaction) -> Mapping[UUID, datetime]:
    """Orgs that are here and have come from another cell, and when; of those on their way on, when they set out."""
    return {row.org_id: row.since for row in tx.run("list_come")}


def that_came_later(tx: Transaction, elsewhere: Mapping[UUID, datetime]) -> Sequence[UUID]:
    """Those of the orgs of another cell that are here, too, and have come there after they came here."""
    rows = tx.run("list_that_came_later", org_ids=[*elsewhere], since=[*elsewhere.values()])
    return [row.org_id for row in rows]


def left_for(tx: Transaction, cell: str) -> Mapping[UUID, datetime]:
    """Orgs that have left for a cell, and when."""
    return {row.org_id: row.since for row in tx.run("list_left_for", cell=cell)}


def here(tx: Transaction, org_ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these orgs that are here, be it as a copy that nobody has opened."""
    return frozenset(row.org_id for row in tx.run("list_orgs_here", org_ids=list(org_ids)))
