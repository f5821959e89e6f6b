"""A cell that was restored: doubts move with their org, and an org that has moved is open in one cell."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from domain.jobs.job import NewJob
from engine.runtime import Runtime
from operations.orgs import moves
from operations.orgs.moves import MoveStep
from operations.orgs.restored_cells import FoundOrgs, find_orgs
from storage.jobs import effects, ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, enqueue_one, make_org
from tests.operations.orgs.moves.two_cells import BY, HERE, THERE, TwoCells, rows_of
from tests.servers.backup import back_up

DOUBTED = "select postroom.lost_since(org_id, postroom.caused_at(j)) is not null from jobs j where id = %s"


def restore(store: Database) -> None:
    with store.ledger() as tx:
        effects.doubt_since(tx, datetime.now(UTC) - timedelta(minutes=1), BY)


def test_a_doubt_moves_with_its_org(cells: TwoCells, store: Database, there: Database, database: Connection) -> None:
    org_id = make_org(database)
    before = enqueue_one(store, org_id)
    restore(store)
    after = enqueue_one(store, org_id)
    moves.move(cells.cells, str(org_id), by=BY)
    later = enqueue_one(there, org_id)
    said = {job_id: cells.there.execute(DOUBTED, (job_id,)).fetchall() for job_id in (before, after, later)}
    assert said == {before: [(True,)], after: [(False,)], later: [(False,)]}


def test_an_org_that_comes_has_no_doubt_of_the_orgs_that_were_there(
    cells: TwoCells, store: Database, there: Database, database: Connection
) -> None:
    org_id = make_org(database)
    job_id = enqueue_one(store, org_id)
    restore(there)
    moves.move(cells.cells, str(org_id), by=BY)
    assert cells.there.execute(DOUBTED, (job_id,)).fetchall() == [(False,)]


def test_what_the_fleet_asked_of_the_org_stays_in_doubt(cells: TwoCells, store: Database, database: Connection) -> None:
    """A job of the system org is a cause that no move takes along."""
    org_id = make_org(database)
    restore(store)
    with store.ledger() as tx:
        job = NewJob("probe.run", org_id, {}, parent_id=uuid4())
        (made,) = ledger.enqueue(tx, [job], publisher=True, hint_timeout=HINT_TIMEOUT)
    moves.move(cells.cells, str(org_id), by=BY)
    assert cells.there.execute(DOUBTED, (made.job_id,)).fetchall() == [(True,)]


def find(cells: TwoCells) -> FoundOrgs:
    """What `database restored` finds in the cell from which the org had moved."""
    return find_orgs(cells.cells.source, HERE, {THERE: cells.cells.target}, by=BY)


def find_there(cells: TwoCells) -> FoundOrgs:
    """The same in the other cell."""
    return find_orgs(cells.cells.target, THERE, {HERE: cells.cells.source}, by=BY)


def test_a_restore_of_the_old_cell_leaves_the_org_where_it_has_moved(
    cells: TwoCells, org_id: UUID, process: Runtime
) -> None:
    other = make_org(cells.here)
    backup = back_up(cells.here)
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    backup.restore(process)
    assert cells.open_in(org_id) == [HERE, THERE]
    found = find(cells)
    assert [(one.org_id, one.cell) for one in found.moved_away] == [(org_id, THERE)]
    assert found.nowhere == []
    assert cells.open_in(org_id) == [THERE]
    assert [name for name, rows in rows_of(cells.here, org_id).items() if rows] == []
    assert cells.here.execute("select from moved_doors where org_id = %s", (org_id,)).fetchall()
    assert cells.open_in(other) == [HERE]
    assert find(cells) == FoundOrgs()


def test_a_restore_to_the_middle_of_the_move_is_found_too(cells: TwoCells, org_id: UUID, process: Runtime) -> None:
    backups = []

    def note(reached: MoveStep) -> None:
        if reached is MoveStep.CLOSED:
            backups.append(back_up(cells.here))

    moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=note)
    backups[0].restore(process)
    assert [one.org_id for one in find(cells).moved_away] == [org_id]
    again = moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert again.cell == THERE
    assert cells.open_in(org_id) == [THERE]


def test_an_org_that_came_after_the_restored_moment_of_the_new_cell_is_in_none(cells: TwoCells, org_id: UUID) -> None:
    backup = back_up(cells.there)
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    backup.restore_rows()
    assert cells.open_in(org_id) == []
    found = find_there(cells)
    assert [(one.org_id, one.cell) for one in found.nowhere] == [(org_id, HERE)]
    assert found.moved_away == []
    (fault,) = found.faults()
    assert fault.startswith(f"the org {org_id} has left {HERE} for here at ")
    assert "is in no cell: restore to a later moment, or bring it back" in fault


def test_an_org_whose_move_was_not_ended_is_in_its_new_cell(cells: TwoCells, org_id: UUID) -> None:
    """It is a copy that nobody has opened: the same move opens it."""

    def cut_off(reached: MoveStep) -> None:
        if reached is MoveStep.LEFT:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=cut_off)
    assert find_there(cells) == FoundOrgs()
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [THERE]


def test_of_two_restored_cells_the_one_to_which_the_org_came_last_keeps_it(
    cells: TwoCells, org_id: UUID, there: Database
) -> None:
    """The other ledger is as it was before the org came back, and nobody has said so to it yet."""
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    backup = back_up(cells.there)
    moves.move(cells.back(there), str(org_id), by=BY, has_files=True)
    backup.restore_rows()
    assert cells.open_in(org_id) == [HERE, THERE]
    assert find(cells) == FoundOrgs()
    assert [one.org_id for one in find_there(cells).moved_away] == [org_id]
    assert cells.open_in(org_id) == [HERE]


def test_a_ledger_of_another_cell_is_refused(cells: TwoCells) -> None:
    with pytest.raises(Invalid, match="leads for the cell eu3 to a ledger of another"):
        find_orgs(cells.cells.source, HERE, {"eu3": cells.cells.target}, by=BY)


def test_an_org_that_is_in_no_cell_comes_back_from_a_backup_of_the_old_one(
    cells: TwoCells, org_id: UUID, process: Runtime
) -> None:
    """As the page says: the old ledger as it was before the move, on a server beside it, and the move anew."""
    beside = back_up(cells.here)
    lost = back_up(cells.there)
    before = rows_of(cells.here, org_id)
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    lost.restore_rows()
    beside.restore(process)
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [THERE]
    after = rows_of(cells.there, org_id)
    assert after["messages"] == before["messages"]
    assert len(after["restorations"]) == len(before["restorations"]) + 1
