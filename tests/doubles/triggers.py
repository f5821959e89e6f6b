"""Triggers of a test: writes that PostgreSQL aborts, and every state that a row takes."""

from psycopg import Connection
from psycopg.sql import SQL, Identifier


def refuse(database: Connection, event: str, table: str, *, when: str = "true") -> None:
    """Abort each `update` or `delete` of a row for which `when` holds, as if it waited too long for a lock."""
    database.execute(
        "create function refuse_write() returns trigger language plpgsql as"
        " $$ begin raise exception 'refused by the test' using errcode = '57014'; end $$"
    )
    trigger = SQL("create trigger refuse_write before {} on {} for each row when ({}) execute function refuse_write()")
    database.execute(trigger.format(SQL(event), Identifier(table), SQL(when)))


def note_states(database: Connection, table: str) -> None:
    """Write down every state that a row of the table takes from now on."""
    database.execute(
        f"""
        create table taken_states (number bigint generated always as identity, state text);
        create function write_state() returns trigger language plpgsql security definer set search_path = public as
          $$ begin insert into taken_states (state) values (new.state); return new; end $$;
        create trigger state_taken after update of state on {table} for each row
          when (old.state is distinct from new.state) execute function write_state();
        """
    )


def taken_states(database: Connection) -> list[str]:
    """The states in their order."""
    return [row[0] for row in database.execute("select state from taken_states order by number").fetchall()]
