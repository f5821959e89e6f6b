"""Writes that PostgreSQL aborts, as one that waits for a lock for too long is aborted."""

from psycopg import Connection
from psycopg.sql import SQL, Identifier


def refuse(database: Connection, event: str, table: str, *, when: str = "true") -> None:
    """Abort each `update` or `delete` of a table's row for which `when` holds."""
    database.execute(
        "create function refuse_write() returns trigger language plpgsql as"
        " $$ begin raise exception 'refused by the test' using errcode = '57014'; end $$"
    )
    trigger = SQL("create trigger refuse_write before {} on {} for each row when ({}) execute function refuse_write()")
    database.execute(trigger.format(SQL(event), Identifier(table), SQL(when)))
