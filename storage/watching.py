"""What changes while somebody looks at it."""

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from storage.postgres.database import Transaction


class RowVersion(NamedTuple):
    """Whose a row is, and a text that is another one after each change of it."""

    org_id: UUID
    version: str


def versions(tx: Transaction, ids: Collection[UUID]) -> Mapping[UUID, RowVersion]:
    """By id, of the jobs, runs and bulk actions that there are: one look by key for each, and none without ids."""
    rows = tx.run("list_row_versions", ids=sorted(ids)) if ids else []
    return {row.id: RowVersion(row.org_id, row.version) for row in rows}
