"""An org that has not left may stay, and nothing of it is left in the other cell."""

from collections.abc import Callable
from uuid import UUID

import pytest
from psycopg.errors import LockNotAvailable

from domain.jobs.failures import Conflict, Gone
from operations.orgs import moves, stays
from operations.orgs.moves import MoveStep
from operations.orgs.stays import OtherLedger
from storage.orgs import moving
from storage.postgres.database import Database
from tests.operations.orgs.moves.two_cells import BY, HERE, THERE, TwoCells, rows_of


class CutOffError(Exception):
    """What a kill does to a transaction that is open."""


def cutting_off(step: MoveStep) -> Callable[[MoveStep], None]:
    def cut_off(reached: MoveStep) -> None:
        if reached is step:
            raise CutOffError

    return cut_off


def begin(cells: TwoCells, org_id: UUID, step: MoveStep) -> None:
    """A move that is cut off after a step."""
    with pytest.raises(CutOffError):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True, done=cutting_off(step))


def stay(cells: TwoCells, org_id: UUID, *, copy_stays: bool = False) -> stays.StayingOrg:
    other = None if copy_stays else OtherLedger(THERE, cells.cells.target)
    return stays.stay(cells.cells.source, HERE, str(org_id), other=other, by=BY)


def copied(cells: TwoCells, org_id: UUID) -> list[str]:
    """The tables of the other ledger with rows of the org."""
    return [name for name, rows in rows_of(cells.there, org_id).items() if rows]


@pytest.mark.parametrize("step", [MoveStep.DRAINING, MoveStep.CLOSED, MoveStep.COPIED])
def test_an_org_that_has_not_left_may_stay(cells: TwoCells, org_id: UUID, step: MoveStep) -> None:
    before = rows_of(cells.here, org_id)
    begin(cells, org_id, step)
    assert stay(cells, org_id).copy_removed is (step is MoveStep.COPIED)
    assert cells.open_in(org_id) == [HERE]
    after = rows_of(cells.here, org_id)
    gone = [row for name, rows in before.items() for row in rows if row not in after[name]]
    assert gone == []
    assert copied(cells, org_id) == []
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    assert cells.open_in(org_id) == [THERE]


def test_a_copy_that_was_left_is_removed_later(cells: TwoCells, org_id: UUID, store: Database) -> None:
    """The other cell was away: the org goes on, and asks for the copy once the cell is back."""
    begin(cells, org_id, MoveStep.COPIED)
    assert stays.on_its_way_to(store, str(org_id)) == THERE
    stay(cells, org_id, copy_stays=True)
    assert cells.open_in(org_id) == [HERE]
    assert stays.on_its_way_to(store, str(org_id)) is None
    assert copied(cells, org_id)
    assert stay(cells, org_id).copy_removed
    assert copied(cells, org_id) == []
    assert cells.open_in(org_id) == [HERE]
    with pytest.raises(Conflict, match="not on its way"):
        stay(cells, org_id)


def test_callers_of_the_cell_that_had_the_copy_hear_where_the_org_is(
    cells: TwoCells, org_id: UUID, there: Database
) -> None:
    """An org that once was there has its doors there again."""
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    moves.move(cells.back(there), str(org_id), by=BY, has_files=True)
    doors = "select door from moved_doors where org_id = %s order by door"
    known = cells.there.execute(doors, (org_id,)).fetchall()
    begin(cells, org_id, MoveStep.COPIED)
    stay(cells, org_id)
    assert cells.there.execute(doors, (org_id,)).fetchall() == known
    assert cells.there.execute("select state, cell from org_moves").fetchall() == [("left", HERE)]


def test_work_of_the_org_goes_on_while_its_copy_is_removed(cells: TwoCells, org_id: UUID) -> None:
    """The other ledger may take minutes; whatever refers to the org comes in meanwhile."""
    with cells.cells.source.transaction() as tx:
        assert moving.hold_org(tx, org_id)
        cells.here.execute("set lock_timeout = '1s'")
        cells.here.execute("insert into users (org_id, email) values (%s, 'new@example.com')", (org_id,))
        with pytest.raises(LockNotAvailable):
            cells.here.execute("update orgs set closed_since = now() where id = %s", (org_id,))


def test_an_org_that_has_left_does_not_stay(cells: TwoCells, org_id: UUID) -> None:
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    with pytest.raises(Gone, match=f"has moved to the cell {THERE}"):
        stay(cells, org_id)
    assert cells.open_in(org_id) == [THERE]


def test_an_org_that_is_open_in_the_other_cell_does_not_stay(cells: TwoCells, org_id: UUID) -> None:
    """A ledger that was restored to the middle of a move does not know that the move has ended."""
    moves.move(cells.cells, str(org_id), by=BY, has_files=True)
    cells.here.execute("insert into orgs (id, name, closed_since) values (%s, 'an org', now())", (org_id,))
    cells.here.execute("update org_moves set state = 'leaving' where org_id = %s", (org_id,))
    with pytest.raises(Conflict, match="the other cell has the org, too"):
        stay(cells, org_id)
    assert cells.open_in(org_id) == [THERE]
