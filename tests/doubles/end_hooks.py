"""End-of-job hooks for tests: made in the test's database as a migration would make them."""

from typing import Any
from uuid import UUID

from psycopg import Connection, sql

TABLE = """
create table told (
  id bigint generated always as identity,
  org_id uuid not null,
  hook text not null,
  facts jsonb not null
);
call postroom.fence_table('told');
grant select, insert on told to postroom_tenant;
"""

TELLING = "insert into told (org_id, hook, facts) values (postroom.current_org(), 'end_hook', facts);"
"""A hook's body that notes what it was told."""


def make_hook(database: Connection, name: str, body: str = TELLING) -> str:
    """Make a hook of a name and a PL/pgSQL body; returns the name. The table `told` is made with the first."""
    if database.execute("select to_regclass('told')").fetchone() == (None,):
        database.execute(TABLE.encode())
    function = sql.SQL(
        "create function postroom.{}(facts jsonb) returns void language plpgsql as $hook$ begin {} end $hook$"
    )
    database.execute(function.format(sql.Identifier(name), sql.SQL(body)))
    database.execute("call postroom.adopt_end_hook(%s::regprocedure)", (f"postroom.{name}(jsonb)",))
    return name


def repair_hook(database: Connection, name: str) -> None:
    """Give a hook a body that works."""
    function = sql.SQL(
        "create or replace function postroom.{}(facts jsonb) returns void language plpgsql security definer"
        " set search_path = pg_catalog, public, pg_temp as $hook$ begin {} end $hook$"
    )
    database.execute(function.format(sql.Identifier(name), sql.SQL(TELLING)))


def told(database: Connection) -> list[tuple[UUID, dict[str, Any]]]:
    """What hooks were told, in order: the org that they ran as, and the facts."""
    return database.execute("select org_id, facts from told order by id").fetchall()
