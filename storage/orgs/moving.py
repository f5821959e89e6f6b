"""An org's rows leave a ledger and come into another, table by table; both sides are the owner's transactions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict
from storage.orgs.owning import carry
from storage.orgs.secrets.sealing import Sealer
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

LEAVING, LEFT, ARRIVING, ARRIVED = "leaving", "left", "arriving", "arrived"


class MovingTable(NamedTuple):
    """The statements by which one table's rows of an org move (`postroom.moving_statements`)."""

    name: str
    columns: str
    leave: str
    stage: str
    take: str
    arrive: str
    remove: str
    sums: str


class TableSums(NamedTuple):
    """How many rows of an org a table has, and a sum over them."""

    rows: int
    sum: int


@dataclass(frozen=True, slots=True)
class OrgMove:
    """How far an org has come on its way from or to a cell."""

    state: str
    cell: str
    actor_id: str
    since: datetime


class MovedDoor(NamedTuple):
    """To whom somebody wanted who has come by a key or an id."""

    org_id: UUID
    cell: str


@dataclass(frozen=True, slots=True)
class CellFacts:
    """What a ledger says of its cell."""

    name: str
    key_ids: Sequence[bytes]
    schema: Sequence[str]
    job_types: Sequence[str]


def name_cell(tx: Transaction, name: str, sealer: Sealer) -> None:
    """Write which cell this ledger is; for the owner."""
    tx.run("write_cell", name=name, key_ids=list(sealer.key_ids))


def cell(tx: Transaction, org_id: UUID) -> CellFacts | None:
    """What an org finds here; None where no migration of this release has run."""
    rows = tx.run("read_cell", org_id=org_id)
    if not rows:
        return None
    return CellFacts(rows[0].name, [bytes(key) for key in rows[0].sealing_key_ids], rows[0].schema, rows[0].job_types)


def move(tx: Transaction, org_id: UUID) -> OrgMove | None:
    """The org's move that is under way or was the last; None where it has always been here."""
    rows = tx.run("read_move", org_id=org_id)
    return OrgMove(**rows[0]._asdict()) if rows else None


def begin(tx: Transaction, org_id: UUID, to: str, *, by: str) -> None:
    """Write down that the org leaves; raises `Conflict` where somebody else has."""
    if not tx.run("begin_move", org_id=org_id, cell=to, actor_id=by):
        raise Conflict("the org is on its way already", code="move.begun")


def close(tx: Transaction, org_id: UUID) -> None:
    """Let nothing be enqueued for the org."""
    tx.run("close_org", org_id=org_id)


def hold_org(tx: Transaction, org_id: UUID) -> bool:
    """Let the org neither leave nor close until the transaction ends; False where it is not here."""
    return bool(tx.run("hold_org", org_id=org_id))


def reopen(tx: Transaction, org_id: UUID) -> bool:
    """Let the org stay; False where it was not leaving."""
    stays = bool(tx.run("end_leaving", org_id=org_id))
    if stays:
        tx.run("reopen_org", org_id=org_id)
    return stays


def held_claims(tx: Transaction, org_id: UUID) -> Mapping[UUID, UUID]:
    """The org's jobs that workers hold, each with the token of its claim, which jobs of other orgs may have, too."""
    return {row.job_id: row.token for row in tx.run("list_held_claims", org_id=org_id)}


def uncounted(tx: Transaction, org_id: UUID) -> int:
    """How many entries of its audit log are still to be counted; 0 where nobody counts."""
    return int(tx.run("count_uncounted", org_id=org_id)[0].entries)


def why_not(tx: Transaction, org_id: UUID, there: CellFacts) -> Row:
    """What keeps the org from that cell: erasures, sealed values, files, job types, tables; by number or by name."""
    return tx.run("find_why_not", org_id=org_id, key_ids=list(there.key_ids), job_types=list(there.job_types))[0]


def hold(tx: Transaction, org_id: UUID, to: str) -> Row | None:
    """Begin the one snapshot in which it leaves, and hold its jobs; None where it does not leave to that cell.

    Raises `StatementAborted` where somebody else holds or has changed a row.
    """
    tx.raw("set transaction isolation level repeatable read")
    _unguarded(tx)
    rows = tx.run("hold_leaving", org_id=org_id, cell=to)
    return rows[0] if rows else None


def sums(tx: Transaction, org_id: UUID) -> dict[str, TableSums]:
    """Rows and sum of each table."""
    return {table.name: TableSums(*tx.raw(table.sums)[0]) for table in tables(tx, org_id)}


def tables(tx: Transaction, org_id: UUID) -> Sequence[MovingTable]:
    """Every table with rows of orgs; what a row refers to comes before it."""
    return [MovingTable(*row) for row in tx.run("moving_statements", org_id=org_id)]


def give_up(tx: Transaction, org_id: UUID, cell: str, *, by: str) -> None:
    """Remove the org's rows here, and keep only that it is in the other cell, and by what callers ask for it."""
    _unguarded(tx)
    tx.run("write_left", org_id=org_id, cell=cell, actor_id=by)
    tx.run("name_doors", org_id=org_id)
    _remove(tx, org_id)


def remove_copy(tx: Transaction, org_id: UUID, came_from: str, *, by: str) -> bool:
    """Give up a copy that came from that cell and was not opened; False where there is none.

    Raises `Conflict` where the org is open here.
    """
    _refuse_open(tx, org_id)
    found = move(tx, org_id)
    is_copy = found is not None and (found.state, found.cell) == (ARRIVING, came_from)
    if is_copy:
        give_up(tx, org_id, came_from, by=by)
    return is_copy


def bring_late_events(elsewhere: Transaction, tx: Transaction, org_id: UUID) -> None:
    """Add what workers of the other cell have recorded of the org since it left there, before that is removed."""
    tx.run("add_late_events", events=Jsonb(elsewhere.run("list_late_events", org_id=org_id)[0].events))


def long_under_way(tx: Transaction, longer_than: timedelta) -> Sequence[tuple[UUID, OrgMove]]:
    """Orgs whose move was begun so long ago and has not ended, the oldest first."""
    rows = tx.run("list_long_under_way", longer_than=longer_than)
    return [(row.org_id, OrgMove(row.state, row.cell, row.actor_id, row.since)) for row in rows]


def hand_over(source: Transaction, target: Transaction, org_id: UUID) -> None:
    """Let all rows of the org leave one ledger, and put them into the other in place of a copy that was not opened.

    Nothing is committed. Raises `Conflict` where the other ledger has the org.
    """
    _refuse_open(target, org_id)
    _unguarded(target)
    leaving = tables(source, org_id)
    source.run("name_doors", org_id=org_id)
    _remove(target, org_id)
    target.run("begin_arrival", org_id=org_id)
    for table in leaving:
        target.raw(table.stage)
    for table in reversed(leaving):
        carry(source, table.leave, target, table.take)
    for table in leaving:
        target.raw(table.arrive)
    source.run("leave", org_id=org_id)


def arrive(tx: Transaction, org_id: UUID, came_from: str, *, by: str) -> None:
    """Write down where the org has come from; it stays closed."""
    tx.run("arrive", org_id=org_id, cell=came_from, actor_id=by)


def open_arrived(tx: Transaction, org_id: UUID) -> bool:
    """Let the org's work begin here; False where the clock is not past what came along."""
    is_open = bool(tx.run("open_arrived", org_id=org_id))
    if is_open:
        tx.run("reopen_org", org_id=org_id)
    return is_open


def behind(tx: Transaction, door: str) -> MovedDoor | None:
    """The org that has left and its cell, by a key's prefix or an id of the org's; None for what is no door."""
    return tx.first("find_org_behind_door", lambda row: MovedDoor(*row), door=door)


def _refuse_open(tx: Transaction, org_id: UUID) -> None:
    if tx.run("find_open_org", org_id=org_id):
        raise Conflict("the other cell has the org, too", code="move.in_two_cells")


def _remove(tx: Transaction, org_id: UUID) -> None:
    for table in reversed(tables(tx, org_id)):
        tx.raw(table.remove)


def _unguarded(tx: Transaction) -> None:
    """Rows move as they are: what a trigger would add comes along, and what it would keep stands in another ledger."""
    tx.raw("set local postroom.moves = 'on'; set local postroom.deletes_audit = 'on'")
