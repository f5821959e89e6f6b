"""The rows of a database, kept aside inside it and put back: a tenth of what a new copy of the database costs."""

from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

KEPT = "kept_rows"
"""A schema that no role of the product looks into."""

COLUMNS = """
select c.relname, array_agg(a.attname::text order by a.attnum),
  coalesce(array_agg(a.attname::text) filter (where 'timestamptz'::regtype in (y.oid, y.typbasetype)), '{}')
from pg_class c join pg_attribute a on a.attrelid = c.oid join pg_type y on y.oid = a.atttypid
where a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and c.relnamespace = 'public'::regnamespace
  and c.relkind = 'r' group by c.relname order by c.relname
"""
SEQUENCES = "select sequencename, start_value, last_value from pg_sequences where schemaname = 'public'"
END_OTHERS = """
select bool_and(pg_terminate_backend(pid, 5000)) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
"""


MOST_TRIES = 6
"""How often the connections of the run before are ended: 30 seconds, on a machine that has something else to do."""


class StillConnected(Exception):
    """A connection of the run before does not end, so that the rows cannot be put back now."""


@dataclass(frozen=True)
class Snapshot:
    """What every table of `public` and every sequence held; `owner` must be a superuser that commits by itself."""

    owner: Connection[Any]
    statements: Composed

    def put_back(self) -> None:
        """End all other connections, as a crash does, and make all rows and numbers what they were, as far from now.

        So a slow sweep outruns no deadline.
        Raises `StillConnected` when one does not end in time; the same can be tried again later.
        """
        if not any(self._others_ended() for _ in range(MOST_TRIES)):
            raise StillConnected
        with self.owner.transaction():
            self.owner.execute(self.statements)

    def _others_ended(self) -> bool:
        ended = self.owner.execute(END_OTHERS).fetchone()
        return ended is not None and ended[0] is not False


def keep(owner: Connection[Any]) -> Snapshot:
    """Copy every row of `public`; a table made later is not known to the snapshot."""
    owner.execute(SQL("create schema {}").format(Identifier(KEPT)))
    # Neither triggers nor foreign keys look: the rows stood together before, and they come back as they were.
    statements: list[Composable] = [SQL("set local session_replication_role = replica")]
    kept_at = owner.execute("select clock_timestamp()").fetchone()
    assert kept_at is not None
    since = SQL(" + (now() - {})").format(Literal(kept_at[0]))
    for table, columns, times in owner.execute(COLUMNS).fetchall():
        aside, names = Identifier(KEPT, table), SQL(", ").join(map(Identifier, columns))
        owner.execute(SQL("create table {} as select {} from {}").format(aside, names, Identifier("public", table)))
        statements.append(SQL("delete from {}").format(Identifier("public", table)))
        moved = SQL(", ").join(
            SQL("{}{}").format(Identifier(one), since if one in times else SQL("")) for one in columns
        )
        back = SQL("insert into {} ({}) overriding system value select {} from {}")
        if owner.execute(SQL("select from {} limit 1").format(aside)).rowcount:
            statements.append(back.format(Identifier("public", table), names, moved, aside))
    for sequence, start, last in owner.execute(SEQUENCES).fetchall():
        name = Identifier("public", sequence).as_string(owner)
        statements.append(SQL("select setval({}, {}, {})").format(name, last or start, last is not None))
    return Snapshot(owner, SQL(";\n").join(statements))
