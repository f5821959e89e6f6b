"""How long the rows of a table are kept: declared beside the table's statements, and carried out by one statement."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from storage.postgres.database import Transaction

BATCH = 1000
"""Rows per transaction: a second's work at most, so that no lock is held for long."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Which rows of a table go: those whose time in the column `since` is more than `age` ago, the oldest first."""

    table: str
    since: str
    age: timedelta = timedelta(0)
    only: str = "true"
    """What else must hold for a row, in SQL, where the table is `t`."""
    batch: int = BATCH
    """Rows per transaction: fewer where a row is large, or takes others with it."""
    by_org: bool = False
    """Whether a row takes rows of other tables with it. A tenant may have locked one of these, so orgs are put off."""

    def forget(self, tx: Transaction, org_ids: Collection[UUID] | None = None) -> int:
        """Delete a batch, of these orgs or of all; returns how many rows. For the ledger role.

        A row that somebody has locked stays until the next time, and makes room for the next row.
        """
        return len(tx.raw(self.statement(of_orgs=org_ids is not None), self._values(org_ids)))

    def orgs(self, tx: Transaction, besides: Collection[UUID]) -> list[UUID]:
        """The orgs whose rows are in the next batch, but for these. Holds the rows until the transaction ends."""
        old = self._old("org_id", "org_id <> all (%(org_ids)s)")
        rows = tx.raw(
            f"select distinct org_id from ({old}) as o",  # noqa: S608  # constants
            self._values(besides),
        )
        return [row.org_id for row in rows]

    def statement(self, *, of_orgs: bool = False) -> str:
        """What deletes a batch; the rows are looked up where they lie, whatever the table's key is."""
        old = self._old("ctid", "org_id = any (%(org_ids)s)" if of_orgs else "true")
        return f"delete from {self.table} where ctid = any (array({old})) returning 1"  # noqa: S608  # constants

    def _old(self, wanted: str, of: str) -> str:
        return (
            f"select t.{wanted} from {self.table} t where t.{self.since} < now() - %(age)s::interval"  # noqa: S608  # constants
            f" and ({self.only}) and {of} order by t.{self.since} limit %(batch)s for update skip locked"
        )

    def _values(self, org_ids: Collection[UUID] | None) -> dict[str, object]:
        values: dict[str, object] = {"age": self.age, "batch": self.batch}
        return values if org_ids is None else values | {"org_ids": list(org_ids)}
