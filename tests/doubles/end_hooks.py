"""End-of-job hooks for tests: made in the test's database as a migration would make them."""

from typing import Any
from uuid import UUID

from psycopg import Connection, sql

TABLE = """
create table hook_calls (
  id bigint generated always as identity,
  org_id uuid not null,
  hook text not null,
  facts jsonb not null
);
call postroom.fence_table('hook_calls');
grant select, insert on hook_calls to postroom_tenant;
-- For hooks that wait.
grant execute on function pg_advisory_xact_lock(bigint) to postroom_hooks;
"""

NOTING = "insert into hook_calls (org_id, hook, facts) values (postroom.current_org(), 'end_hook', facts);"
"""A hook's body that notes what it was called with."""


def make_hook(database: Connection, name: str, body: str = NOTING) -> str:
    """Make a hook of a name and a PL/pgSQL body; returns the name. The table `hook_calls` is made with the first."""
    if database.execute("select to_regclass('hook_calls')").fetchone() == (None,):
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
    database.execute(function.format(sql.Identifier(name), sql.SQL(NOTING)))


def hook_calls(database: Connection) -> list[tuple[UUID, dict[str, Any]]]:
    """What hooks were called with, in order: the org that they ran as, and the facts."""
    return database.execute("select org_id, facts from hook_calls order by id").fetchall()
