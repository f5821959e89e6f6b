"""A ledger as it was at a moment, brought back as a backup brings it: what was done outside since stays done."""

from dataclasses import dataclass
from datetime import datetime

from psycopg import Connection, sql

from domain.jobs.job import ActorType, Origin
from engine.runtime import Runtime
from storage.jobs import effects

COLUMNS = """
select c.table_name, array_agg(c.column_name::text) filter (where c.is_generated = 'NEVER')
from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
group by c.table_name
"""
"""The tables, and what is written into each."""


@dataclass(frozen=True)
class Backup:
    """All rows of a moment, in a schema beside their own."""

    owner: Connection
    taken_at: datetime
    tables: list[tuple[sql.Identifier, sql.Composable]]

    def restore(self, process: Runtime, *, is_said: bool = True) -> None:
        """Bring all rows back, and say so to the ledger unless that is forgotten."""
        self.restore_rows()
        if is_said:
            with process.database.ledger() as tx:
                effects.doubt_since(tx, self.taken_at, Origin(ActorType.USER, "ada"))

    def restore_rows(self) -> None:
        """Bring all rows back, as a server does that was restored and hears nothing of it."""
        with self.owner.transaction():
            self.owner.execute("set local session_replication_role = replica")
            for table, columns in self.tables:
                self.owner.execute(sql.SQL("delete from {}").format(table))
                refill = "insert into {table} ({columns}) overriding system value select {columns} from backup.{table}"
                self.owner.execute(sql.SQL(refill).format(table=table, columns=columns))


def back_up(owner: Connection) -> Backup:
    """Copy all rows as they are now."""
    owner.execute("create schema backup")
    tables: list[tuple[sql.Identifier, sql.Composable]] = []
    for name, columns in owner.execute(COLUMNS).fetchall():
        table = sql.Identifier(name)
        owner.execute(sql.SQL("create table backup.{table} as table {table}").format(table=table))
        tables.append((table, sql.SQL(", ").join(map(sql.Identifier, columns))))
    row = owner.execute("select clock_timestamp()").fetchone()
    assert row is not None
    return Backup(owner, row[0], tables)
