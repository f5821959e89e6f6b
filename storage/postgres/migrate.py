"""Brings a database to the newest schema, and sets its roles right: passwords, settings, rights."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import structlog
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from psycopg import Error as DatabaseError
from psycopg import sql
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import OperationalError

from domain.jobs.failures import Forbidden, Transient
from domain.text.log_limit import LogLimit
from settings import Settings
from storage.postgres.execution import translated
from storage.postgres.logins import LEDGER_ROLE, TENANT_ROLE, read_url, role_url
from storage.postgres.migration_rights import refuse_without_rights
from storage.postgres.migration_waits import find_holder, lift_time_limits, watched

log = structlog.get_logger(__name__)

ONE_AT_A_TIME = 8_217_603_144
"""The advisory lock of whoever migrates a database; any number that nothing else in it uses."""
WAIT_S = 600
"""How long a migrator waits for another, or for a table: longer than any migration has taken so far."""
TRY_MS = 200
PAUSE_S = 1.0
"""How long a migration that found a table taken leaves it to others."""
NEVER = Event()
"""To wait for it is to pause."""
TAKEN = "55P03"
"""SQLSTATE of a lock that was not had in time."""
DEADLOCK = "40P01"
"""SQLSTATE of two sessions of which each wants what the other has: PostgreSQL ends one of them, maybe the migration."""

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


def upgrade(settings: Settings, *, wait_s: float = WAIT_S, pause: Callable[[float], object] = NEVER.wait) -> None:
    """Run every migration that is missing, as the owner; reset what a role may have changed of itself.

    Of several at once, each waits for the one before and finds its work done. Raises `Forbidden` for a database that a
    newer release has migrated, and for an owner that lacks a right which only a superuser can give. For `wait_s`
    another migrator is waited for, and a table that somebody else has is tried again, after a `pause` each time.
    Raises `Transient` when that was not enough.
    """
    with translated(), _alone(settings, wait_s):
        try:
            _run_all(settings, wait_s, pause)
        except CommandError as error:
            raise Forbidden("a newer release has migrated this database: migrate with that one") from error
        _admit_roles(settings)


def _run_all(settings: Settings, wait_s: float, pause: Callable[[float], object]) -> None:
    """Run what is missing; while somebody else has a table, again and again, so that the fleet gets on in between.

    Raises `Transient`, which names the table and the session that has it, when that takes too long: a session that
    stays in its transaction must be ended then.
    """
    ends_at = time.monotonic() + wait_s
    with watched(read_url(settings.database_url, "database_url")) as watch:
        while True:
            try:
                command.upgrade(configuration(settings), "head")
            except (DatabaseError, OperationalError) as error:
                if _sqlstate(error) not in {TAKEN, DEADLOCK}:
                    raise
                if time.monotonic() > ends_at:
                    raise watch.given_up() from error
                pause(PAUSE_S)
            else:
                return


@contextmanager
def _alone(settings: Settings, wait_s: float) -> Iterator[None]:
    """Hold the lock by a transaction of its own: migrations commit in between, and build indexes outside of any."""
    engine = create_engine(read_url(settings.database_url, "database_url"))
    try:
        with engine.connect() as connection:
            lift_time_limits(connection)
            refuse_without_rights(connection)
            connection.commit()
            _wait_for_turn(connection, wait_s)
            yield
    finally:
        engine.dispose()


def _wait_for_turn(connection: Connection, wait_s: float) -> None:
    """Take the lock; raises `Transient`, which names who has it, when that is for too long.

    By many short waits: who builds an index beside running fleets waits for every statement that is older, and so for
    one that waits for the builder.
    """
    ends_at = time.monotonic() + wait_s
    said = LogLimit()
    while True:
        connection.execute(text(f"set local lock_timeout = '{TRY_MS}ms'"))
        try:
            # The lock of a transaction, for the right to take a session's may have been revoked (0008_security.sql).
            connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": ONE_AT_A_TIME})
        except OperationalError as error:
            if _sqlstate(error) != TAKEN:
                raise
            connection.rollback()
            _wait_for_migrator(connection, ends_at, said)
        else:
            # Lets go of the statement before, whose snapshot would keep the builder of an index waiting.
            connection.execute(text("set local lock_timeout = 0"))
            return


def _wait_for_migrator(connection: Connection, ends_at: float, said: LogLimit) -> None:
    """Wait for a moment; raises `Transient` when the time is over."""
    holder = find_holder(connection, ONE_AT_A_TIME)
    connection.rollback()
    if time.monotonic() > ends_at:
        raise Transient(
            f"another process has been migrating this database for too long: {holder or 'it has just ended'};"
            " wait for it, or end that session, and migrate again",
            code="database.locked",
        )
    if said.is_due(time.monotonic()):
        log.warning("migration_waits", reason="another process migrates this database", holder=str(holder))
    NEVER.wait(TRY_MS / 1000)


def _sqlstate(error: DatabaseError | OperationalError) -> str | None:
    """The database's code of an error, which SQLAlchemy wraps where a statement went through it."""
    return getattr(error.orig if isinstance(error, OperationalError) else error, "sqlstate", None)


def _admit_roles(settings: Settings) -> None:
    engine = create_engine(read_url(settings.database_url, "database_url"))
    with engine.begin() as connection:
        lift_time_limits(connection)
        raw = connection.connection.driver_connection
        if raw is None:
            raise RuntimeError("the connection was closed while its roles were set up")
        for role in (LEDGER_ROLE, TENANT_ROLE):
            password = _given_password(settings, role)
            if password is not None:
                change = sql.SQL("alter role {} password {}")
                raw.execute(change.format(sql.Identifier(role), sql.Literal(password)))
        # Readiness compares schema and release as the ledger; the table is Alembic's, so no migration makes it.
        raw.execute(sql.SQL("grant select on alembic_version to {}").format(sql.Identifier(LEDGER_ROLE)))
        raw.execute("call postroom.secure()")
    engine.dispose()


def _given_password(settings: Settings, role: str) -> str | None:
    """The password of a role's URL; None for a URL without one, or of a login that an administrator made."""
    url = role_url(settings, role)
    return url.password if url.username == role else None


def configuration(settings: Settings) -> Config:
    """Alembic's configuration, without a file; the URL stays out of its option parser."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = read_url(settings.database_url, "database_url")
    return config
