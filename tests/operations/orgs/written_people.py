"""A person written into every column in which words stand, and what a dump of the database says afterwards."""

import subprocess
from collections.abc import Iterator, Sequence
from uuid import UUID

from psycopg import Connection, Error
from psycopg.types.json import Jsonb

from sandbox.servers.wheel_binaries import find_postgres_programs

CHANGES = {
    "text": "{column} || ' ' || %(words)s::text",
    "text[]": "{column} || %(words)s::text",
    "json": "({column}::jsonb || %(document)s)::text",
    "jsonb": "case jsonb_typeof({column}) when 'object' then {column} || %(document)s else {column} || %(list)s end",
}

KNOWN_BY = {("users", "email"), ("contact_points", "address"), ("collaborators", "name")}
"""What a person is found by."""
FLEETS = {"actor_type", "job_type", "model", "stop_reason"}
"""Columns in which only words of the fleet, or of a vendor, stand, though no check says so."""


def write_everywhere(database: Connection, org_id: UUID, words: str) -> set[tuple[str, str]]:
    """Write words into every column of the org's rows that can take them; returns these columns."""
    written = set()
    for table, column, kind in _columns(database):
        condition = "id = %(org)s" if table == "orgs" else "org_id = %(org)s"
        changed = CHANGES[kind].format(column=column)
        values = {"org": org_id, "words": words, "document": Jsonb({"said": [words]}), "list": Jsonb([{words: words}])}
        try:
            with database.transaction():
                # As the erasure does: the log takes no change from anybody else.
                database.execute("select set_config('postroom.deletes_audit', 'on', true)")
                done = database.execute(f"update {table} set {column} = {changed} where {condition}".encode(), values)
            if done.rowcount:
                written.add((table, column))
        except Error:
            continue  # the column has a form that words do not fit
    return written


def _columns(database: Connection) -> Iterator[tuple[str, str, str]]:
    tables = database.execute("select table_name from erasure_rules where org_rows is not null order by number")
    for (table,) in tables.fetchall():
        if table not in {"gates", "serial_slots", "result_requests", "erasures"}:
            found = database.execute("select name, kind from postroom.word_columns(%s::regclass)", (table,))
            columns = [(table, name, kind) for name, kind in found.fetchall() if name not in FLEETS]
            yield from (one for one in columns if one[:2] not in KNOWN_BY)


def dump(database_url: str) -> str:
    """What `pg_dump` says of a database, in lower case."""
    program = find_postgres_programs() / "pg_dump"
    words = [str(program), "--data-only", database_url]
    done = subprocess.run(words, capture_output=True, check=True, timeout=60)  # noqa: S603 - PostgreSQL's own
    return done.stdout.decode().lower()


def lines_with(text: str, words: Sequence[str]) -> list[str]:
    """What is left of somebody in a dump: the table of each line, and the words around."""
    table, found = "", []
    for line in text.splitlines():
        if line.startswith("copy "):
            table = line.split()[1]
        found += [
            f"{table}: …{line[max(0, line.index(one) - 60) : line.index(one) + 60]}…" for one in words if one in line
        ]
    return found


def rows_of(database: Connection, org_id: UUID) -> dict[str, list[str]]:
    """Every row of an org, by table, as PostgreSQL writes it."""
    found = {}
    for table, condition in database.execute("select table_name, org_rows from erasure_rules order by number"):
        if condition and table != "erasures":
            accounts = "array(select id from accounts where org_id = %s)"
            the = f"(select %s::uuid as org, null::uuid as person, {accounts} as accounts) as the"
            query = f"select t::text from {table} t, {the} where {condition.replace('%', '%%')} order by 1"
            found[table] = [row for (row,) in database.execute(query.encode(), (org_id, org_id)).fetchall()]
    return found
