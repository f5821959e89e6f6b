"""A cell whose ledger was restored to a moment: which orgs have left it since, and which are in no cell.

A restore takes back what the ledger wrote of moves, and the ledgers of the other cells still know.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG, Origin
from storage.jobs.audit_log import deeds
from storage.orgs import moving, org_cells
from storage.orgs.owning import OwnersSession
from storage.postgres.database import Transaction

PAGE = "docs/howto/back-up-and-restore.md#a-cell"


@dataclass(frozen=True, slots=True)
class OrgElsewhere:
    """An org, and the cell of which is spoken."""

    org_id: UUID
    cell: str
    since: datetime


@dataclass(frozen=True, slots=True)
class FoundOrgs:
    """What the ledgers of the other cells say."""

    moved_away: list[OrgElsewhere] = field(default_factory=list)
    """They have moved since the moment. Their rows here are removed, as the move had done."""
    nowhere: list[OrgElsewhere] = field(default_factory=list)
    """They have left that cell for this one, which does not know them any more."""

    def faults(self) -> Iterator[str]:
        """What is left to be done by hand."""
        for one in self.nowhere:
            yield (
                f"the org {one.org_id} has left {one.cell} for here at {one.since:%Y-%m-%d %H:%M:%S} UTC and is in no"
                f" cell: restore to a later moment, or bring it back as {PAGE} says"
            )


def find_orgs(source: OwnersSession, here: str, cells: Mapping[str, OwnersSession], *, by: Origin) -> FoundOrgs:
    """Give up orgs that have moved away since, as the other cells say, and look for those that no cell has.

    Nothing may run in this cell meanwhile. Raises `Invalid` for a ledger that is of another cell.
    """
    found = FoundOrgs()
    for name, session in cells.items():
        with _ledger_of(session, name) as other:
            came = org_cells.come(other)
        with source.transaction() as tx:
            for org_id in org_cells.that_came_later(tx, came):
                moving.give_up(tx, org_id, name, by=by.actor_id)
                deeds.record(tx, "org.moved", {"org_id": str(org_id), "cell": name}, by=by, org_id=SYSTEM_ORG)
                found.moved_away.append(OrgElsewhere(org_id, name, came[org_id]))
    for name, session in cells.items():
        with _ledger_of(session, name) as other:
            left = org_cells.left_for(other, here)
        somewhere = _anywhere([source, *cells.values()], [*left])
        found.nowhere.extend(
            OrgElsewhere(org_id, name, since) for org_id, since in left.items() if org_id not in somewhere
        )
    return found


@contextmanager
def _ledger_of(session: OwnersSession, name: str) -> Iterator[Transaction]:
    with session.transaction() as tx:
        given = moving.cell(tx, SYSTEM_ORG)
        if given is None or given.name != name:
            raise Invalid("cell_database_urls", f"leads for the cell {name} to a ledger of another")
        yield tx


def _anywhere(sessions: list[OwnersSession], org_ids: list[UUID]) -> frozenset[UUID]:
    """Those of these orgs that are in any of these ledgers."""
    seen: set[UUID] = set()
    for session in sessions:
        with session.transaction() as tx:
            seen |= org_cells.here(tx, org_ids)
    return frozenset(seen)
