"""Fires the rows of a system's table that are due, a thousand in one statement, the orgs in turns."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from engine.relay.resting_orgs import RestingOrgs
from engine.runtime import Runtime
from storage.postgres.apart import WITHIN_S, together_or_apart
from storage.postgres.database import Transaction

log = structlog.get_logger(__name__)

MOST_ROWS = 1_000
"""A third of a second's work; the leader's other duties come in between."""


class DueRow(Protocol):
    """A row that is due."""

    @property
    def org_id(self) -> UUID:
        """Whose it is."""


Row = TypeVar("Row", bound=DueRow)


class DueTable(Protocol[Row]):
    """A table whose rows have a job each when their time comes."""

    @property
    def __name__(self) -> str:
        """How logs name the table."""

    def list_due(self, tx: Transaction, *, besides: Collection[UUID] = (), limit: int) -> Sequence[Row]:
        """The rows that have been due for longest: none that somebody has locked, none of the orgs of `besides`."""

    def fire(self, tx: Transaction, due: Sequence[Row], *, hint_timeout: timedelta) -> int:
        """Enqueue the job of each row that is due still, and that nobody has locked; returns how many."""


due_tables: list[DueTable[Any]] = []
"""The tables of this process. The family of a table's jobs names it."""


class DueRows(Generic[Row]):
    """Part of the leading relay. A row's state and the key of its job keep two leaders from firing it twice."""

    def __init__(
        self, runtime: Runtime, table: DueTable[Row], *, most: int = MOST_ROWS, within_s: float = WITHIN_S
    ) -> None:
        """Begin with any org: the table knows what is due."""
        self._runtime, self._table, self._most, self._within_s = runtime, table, most, within_s
        self._resting = RestingOrgs()
        self._served: frozenset[UUID] = frozenset()
        """Orgs that have had their turn while others wait: many rows of one org hold up those of no other."""

    def turn(self) -> bool:
        """Enqueue the jobs of due rows, the orgs in turns; true when more may be due."""
        served, resting = self._served, self._resting.now()
        with self._runtime.database.ledger() as tx:
            due = self._table.list_due(tx, besides={*resting, *served}, limit=self._most)
            if served and not due:
                served = frozenset()
                due = self._table.list_due(tx, besides=resting, limit=self._most)
        is_full = len(due) == self._most
        left = together_or_apart(due, _org_of, self._fire, within_s=self._within_s)
        for org_id in set(map(_org_of, left.locked)):
            log.warning("due_rows_postponed", table=self._table.__name__, org_id=str(org_id))
            self._resting.add(org_id)
        had_a_turn = served.union(map(_org_of, due)).difference(map(_org_of, left.untried))
        self._served = had_a_turn if is_full else frozenset()
        return bool(left.untried) or (len(left.locked) < len(due) if is_full else bool(served))

    def _fire(self, due: Sequence[Row]) -> None:
        with self._runtime.database.ledger() as tx:
            tx.wait_briefly()
            self._table.fire(tx, due, hint_timeout=self._runtime.hint_timeout)


def _org_of(row: DueRow) -> UUID:
    return row.org_id
