"""One PostgreSQL and one Valkey per test session, shared by all of pytest-xdist's workers.

The process that starts the session owns the servers. With xdist that is the controller, which hands the addresses to
its workers (`tests/conftest.py`); on two cores one shared pair is cheaper than a pair per worker.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql
from pydantic import SecretStr

from sandbox.servers.servers import run_servers
from sandbox.servers.valkey_server import DATABASES
from settings import Settings
from storage.postgres.migrate import upgrade
from tests.servers.python_processes import run_prepared_python
from tests.servers.session_folder import find_fastest_parent, session_folder

TEMPLATE = "postroom_template"


@dataclass(frozen=True)
class SessionServers:
    """Where the session's servers listen: plain values, so that they travel to xdist's workers."""

    postgres_url: str
    valkey_url: str
    python_address: str
    """Of the prepared Python; empty without one."""

    def database_url(self, database: str) -> str:
        """The owner's connection to one database of the session's PostgreSQL."""
        return f"{self.postgres_url}/{database}"

    def broker_url(self, database: int) -> str:
        """The address of one numbered database of the session's Valkey."""
        return f"{self.valkey_url}/{database}"


@contextmanager
def run_session_servers(*, with_python: bool = False) -> Iterator[SessionServers]:
    """Run both servers without durability, with a migrated template database; beside them a prepared Python."""
    with ExitStack() as stack:
        folder = stack.enter_context(session_folder(find_fastest_parent()))
        python = stack.enter_context(run_prepared_python(folder)) if with_python else ""
        both = stack.enter_context(run_servers(folder, durable=False))
        urls = both.postgres.url("").removesuffix("/"), both.valkey.url(0).removesuffix("/0")
        addresses = SessionServers(*urls, python)
        create_database(addresses, TEMPLATE, template="template0")
        fill_template(addresses.database_url(TEMPLATE))
        stack.callback(end_administration)
        yield addresses


def fill_template(owner_url: str) -> None:
    """Migrate the template once; every test's database is a copy of it."""
    upgrade(Settings(database_url=SecretStr(owner_url)))


@contextmanager
def temporary_database(servers: SessionServers, *, template: str, named: str = "test") -> Iterator[str]:
    """Lend one database copied from `template` and drop it afterwards, even while connected to; yields its URL."""
    name = f"{named}_{uuid4().hex[:16]}"
    create_database(servers, name, template=template)
    try:
        yield servers.database_url(name)
    finally:
        _administer(servers, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def create_database(servers: SessionServers, name: str, *, template: str) -> None:
    """Copy `template` under a new name, file by file: block by block, through the log, costs twice the time."""
    names = sql.Identifier(name), sql.Identifier(template)
    _administer(servers, sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(*names))
    # A copy has the rights of a new database, not those of its template (`postroom.secure`).
    _administer(servers, sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(sql.Identifier(name)))


def broker_number(worker: int) -> int:
    """The numbered Valkey database that belongs to one xdist worker; it is flushed before each test."""
    return 1 + worker % (DATABASES - 1)


def as_plain(servers: SessionServers) -> dict[str, str]:
    """The addresses as xdist can send them."""
    return asdict(servers)


class _Administration:
    """This process's connection for making and dropping databases: a new one each time costs as much as the drop."""

    connection: psycopg.Connection[Any] | None = None


def _administer(servers: SessionServers, statement: sql.Composed) -> None:
    if _Administration.connection is None or _Administration.connection.closed:
        _Administration.connection = psycopg.connect(servers.database_url("postgres"), autocommit=True)
    _Administration.connection.execute(statement)


def end_administration() -> None:
    """Close the connection by which this process makes databases; another is opened where one is needed."""
    if _Administration.connection is not None:
        _Administration.connection.close()
