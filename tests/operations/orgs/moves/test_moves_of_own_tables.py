"""Tables of a package of one's own: their rows move with the org, or nothing of it moves."""

from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from operations.orgs import moves
from tests.doubles.factories import make_org
from tests.examples.shop.running_shop import PROJECT
from tests.operations.orgs.moves.two_cells import BY, HERE, THERE, TwoCells

PLACED = """with placed as (
  insert into shop.orders (org_id, buyer, total_cents) values (%(org)s, 'Ada', 100) returning *)
insert into shop.invoices (org_id, order_id, number, total_cents) select org_id, id, 'S-1', total_cents from placed"""
ROWS = "select o::text, i::text from shop.orders o join shop.invoices i on i.order_id = o.id where o.org_id = %s"


@pytest.fixture
def shops(cells: TwoCells) -> TwoCells:
    """Both ledgers have the example's tables."""
    for ledger in (cells.here, cells.there):
        ledger.execute((PROJECT / "schema.sql").read_bytes())
    return cells


def test_rows_of_own_tables_move_with_their_org(shops: TwoCells, org_id: UUID) -> None:
    """Orders before the invoices that refer to them; those of another org stay."""
    other = make_org(shops.here)
    for each in (org_id, other):
        shops.here.execute(PLACED, {"org": each})
    before, others = (shops.here.execute(ROWS, (each,)).fetchall() for each in (org_id, other))
    assert len(before) == len(others) == 1
    moves.move(shops.cells, str(org_id), by=BY, has_files=True)
    assert shops.there.execute(ROWS, (org_id,)).fetchall() == before
    assert shops.here.execute(ROWS, (org_id,)).fetchall() == []
    assert shops.here.execute(ROWS, (other,)).fetchall() == others


UNMOVABLE = {
    "create table shop.notes (org_id uuid not null); call postroom.fence_table('shop.notes')": (
        "shop.notes has no erasure rule"
    ),
    "create table shop.slips (number bigserial primary key, org_id uuid not null);"
    " call postroom.fence_table('shop.slips'); call postroom.erasure_rule('shop.slips')": (
        r"shop.slips has a key that this ledger numbers \(number\): let it be a UUID"
    ),
}


@pytest.mark.parametrize("made", UNMOVABLE)
def test_an_org_does_not_move_without_the_rows_of_a_table(shops: TwoCells, org_id: UUID, made: str) -> None:
    for ledger in (shops.here, shops.there):
        ledger.execute(made.encode())
    with pytest.raises(Invalid, match=UNMOVABLE[made]):
        moves.move(shops.cells, str(org_id), by=BY, has_files=True)
    assert shops.open_in(org_id) == [HERE]


def test_a_cell_without_the_tables_is_refused(cells: TwoCells, org_id: UUID) -> None:
    cells.here.execute((PROJECT / "schema.sql").read_bytes())
    with pytest.raises(Invalid, match="other tables of your own"):
        moves.move(cells.cells, str(org_id), by=BY, has_files=True)


def test_a_rule_of_tables_that_were_dropped_keeps_no_org(shops: TwoCells, org_id: UUID) -> None:
    for ledger in (shops.here, shops.there):
        ledger.execute("drop schema shop cascade")
    moves.move(shops.cells, str(org_id), by=BY, has_files=True)
    assert shops.open_in(org_id) == [THERE]
