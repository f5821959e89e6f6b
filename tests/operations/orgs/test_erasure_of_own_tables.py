"""An erasure reaches the tables of a package of one's own, and none of them is left out unnoticed."""

from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from engine.runtime import Runtime
from tests.commands.calling import answer, refusal
from tests.doubles.factories import make_org
from tests.examples.shop.running_shop import PROJECT
from tests.operations.orgs.written_people import dump, lines_with

ADDRESS = "anna.quillmark@postroom.example"
ORDER = "insert into shop.orders (org_id, buyer, total_cents) values (%s, %s, 100)"
ERASE = (AREAS.users, "erase", ADDRESS, "--reason", "they asked")


@pytest.fixture
def org_id(process: Runtime, database: Connection) -> UUID:  # noqa: ARG001 - the commands need a process
    """An org with Anna, in a database with the example's tables."""
    made = make_org(database)
    database.execute("insert into users (id, org_id, email) values (%s, %s, %s)", (uuid4(), made, ADDRESS))
    database.execute((PROJECT / "schema.sql").read_bytes())
    return made


def test_neither_rows_nor_the_planner_know_a_person_any_more(
    org_id: UUID, database: Connection, database_url: str
) -> None:
    for buyer in [ADDRESS] * 3 + ["Somebody else"] * 3:
        database.execute(ORDER, (org_id, buyer))
    database.execute("analyze shop.orders")
    assert lines_with(dump(database_url), ["quillmark"])
    answer(*ERASE)
    assert lines_with(dump(database_url), ["quillmark"]) == []
    kept = "select most_common_vals::text from pg_stats where tablename = 'orders' and attname = 'buyer'"
    assert database.execute(kept).fetchall() == [('{"Somebody else",x@x.invalid}',)]


def test_a_table_without_a_rule_is_named_before_anything_is_erased(org_id: UUID, database: Connection) -> None:
    database.execute("create table shop.notes (org_id uuid not null, words text)")
    database.execute("call postroom.fence_table('shop.notes')")
    database.execute("insert into shop.notes values (%s, %s)", (org_id, ADDRESS))
    for refused in (ERASE, (AREAS.orgs, "erase", org_id, "--reason", "it left")):
        said = refusal(*refused)
        assert "erasure.no_rule" in said
        assert "shop.notes" in said
    assert database.execute("select from erasures").fetchall() == []
    database.execute("call postroom.erasure_rule('shop.notes')")
    answer(*ERASE)
    assert database.execute("select words from shop.notes").fetchall() == [("x@x.invalid",)]


@pytest.mark.usefixtures("org_id")
def test_a_rule_of_a_dropped_table_stops_nobody(database: Connection) -> None:
    database.execute("drop schema shop cascade")
    assert answer(*ERASE)["finished_at"]
