"""An org stays that was on its way to another cell and has not left; what the other ledger has of it goes."""

from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Conflict, Invalid
from domain.jobs.gate_causes import Cause
from domain.jobs.job import Origin
from storage.jobs import gates
from storage.jobs.audit_log import deeds
from storage.orgs import moving, orgs
from storage.orgs.owning import OwnersSession
from storage.postgres.database import Database


@dataclass(frozen=True, slots=True)
class OtherLedger:
    """The ledger of the cell in which a copy may be."""

    cell: str
    session: OwnersSession


@dataclass(frozen=True, slots=True)
class StayingOrg:
    """An org that runs on where it was."""

    org_id: UUID
    cell: str
    copy_removed: bool


def on_its_way_to(database: Database, named: str) -> str | None:
    """The cell to which the org is on its way; None where it is on none."""
    with database.ledger() as tx:
        begun = moving.move(tx, orgs.find(tx, named))
    return begun.cell if begun is not None and begun.state == moving.LEAVING else None


def stay(source: OwnersSession, here: str, named: str, *, other: OtherLedger | None, by: Origin) -> StayingOrg:
    """Remove the copy in the other ledger, and let the org's work go on here; without the other, the copy stays there.

    Where the org goes on already, a copy that was left is removed. Raises `Conflict` for an org that is on no way and
    has no copy, and for one that is open in the other ledger.
    """
    with source.transaction() as tx:
        org_id = orgs.find(tx, named)
        # From here on no other command lets it leave: a copy that is not opened by now never will be.
        if not moving.hold_org(tx, org_id):
            raise Conflict("the org has left meanwhile")
        stays = moving.reopen(tx, org_id)
        copy_removed = other is not None and _remove_copy(other, org_id, here, by=by)
        if not stays and not copy_removed:
            raise Conflict("the org is not on its way")
        if stays:
            gates.open_gate(tx, "org", str(org_id), Cause.MOVE)
        deeds.record(tx, "org.stayed", {"copy_removed": copy_removed}, by=by, org_id=org_id)
    return StayingOrg(org_id, here, copy_removed)


def _remove_copy(other: OtherLedger, org_id: UUID, here: str, *, by: Origin) -> bool:
    with other.session.transaction() as tx:
        there = moving.cell(tx, org_id)
        if there is None or there.name != other.cell:
            name = "none" if there is None else there.name
            raise Invalid("cell", f"leads to the cell {name}, not to {other.cell}: mend the settings")
        return moving.remove_copy(tx, org_id, here, by=by.actor_id)
