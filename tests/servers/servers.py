"""One PostgreSQL and one Valkey per test session, shared by all of pytest-xdist's workers.

The process that starts the session owns the servers. With xdist that is the controller, which hands the addresses to
its workers (`tests/conftest.py`); on two cores one shared pair is cheaper than a pair per worker.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from uuid import uuid4

import psycopg
from psycopg import sql
from pydantic import SecretStr

from sandbox.servers.servers import run_servers
from sandbox.servers.valkey_server import DATABASES
from settings import Settings
from storage.postgres.migrate import upgrade
from tests.servers.session_folder import find_fastest_parent, session_folder

TEMPLATE = "postroom_template"


@dataclass(frozen=True)
class SessionServers:
    """Where the session's servers listen: plain values, so that they travel to xdist's workers."""

    postgres_url: str
    valkey_url: str

    def database_url(self, database: str) -> str:
        """The owner's connection to one database of the session's PostgreSQL."""
        return f"{self.postgres_url}/{database}"

    def broker_url(self, database: int) -> str:
        """The address of one numbered database of the session's Valkey."""
        return f"{self.valkey_url}/{database}"


@contextmanager
def run_session_servers() -> Iterator[SessionServers]:
    """Run both servers without durability, with a migrated template database."""
    with session_folder(find_fastest_parent()) as folder, run_servers(folder, durable=False) as both:
        addresses = SessionServers(both.postgres.url("").removesuffix("/"), both.valkey.url(0).removesuffix("/0"))
        create_database(addresses, TEMPLATE, template="template0")
        fill_template(addresses.database_url(TEMPLATE))
        yield addresses


def fill_template(owner_url: str) -> None:
    """Migrate the template once; every test's database is a copy of it."""
    upgrade(Settings(database_url=SecretStr(owner_url)))


@contextmanager
def temporary_database(servers: SessionServers, *, template: str) -> Iterator[str]:
    """Lend one database copied from `template` and drop it afterwards, even while connected to; yields its URL."""
    name = f"test_{uuid4().hex[:16]}"
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


def _administer(servers: SessionServers, statement: sql.Composed) -> None:
    with psycopg.connect(servers.database_url("postgres"), autocommit=True) as connection:
        connection.execute(statement)
