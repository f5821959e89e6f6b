"""Writes what each role may do into the table that a test compares; run as a program, by its path or module."""

from pathlib import Path
from typing import Any

import psycopg

from tests.servers.servers import TEMPLATE, run_session_servers, temporary_database

RIGHTS = Path(__file__).with_name("rights.txt")
QUERY = RIGHTS.with_suffix(".sql")


def read_rights(database: "psycopg.Connection[Any]") -> list[str]:
    """Every right that somebody beside the owner has, a line each."""
    return [row[0] for row in database.execute(QUERY.read_bytes())]


def main() -> None:
    """Write the file anew, from a freshly migrated database."""
    with (
        run_session_servers() as servers,
        temporary_database(servers, template=TEMPLATE) as url,
        psycopg.connect(url) as database,
    ):
        RIGHTS.write_text("\n".join(read_rights(database)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
