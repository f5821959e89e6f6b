"""Brings a database to the newest schema, and sets its roles right: passwords, settings, rights."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from psycopg import sql
from sqlalchemy import Connection, Engine, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from domain.jobs.failures import Forbidden
from settings import Settings
from storage.postgres.database import Transaction
from storage.postgres.execution import StatementAborted, prepare_connection, translated
from storage.postgres.logins import LEDGER_ROLE, TENANT_ROLE, read_url, role_url
from storage.postgres.migration_session import LOCK_WAIT, NEVER, MigrationSession, only_migrator
from storage.postgres.migration_waits import WaitWatch, watched

WAIT_S = 600
"""How long a migrator waits for another, or for a table: longer than any migration has taken so far."""
SILENT_S = 60.0
"""How long PostgreSQL may be silent to the session that looks; a statement of a migration may take longer."""
PAUSE_S = 1.0
"""How long a migration that found a table taken leaves it to others."""
TAKEN = "55P03"
"""SQLSTATE of a lock that was not had in time."""
DEADLOCK = "40P01"
"""SQLSTATE of two sessions of which each wants what the other has: PostgreSQL ends one of them, maybe the migration."""
OVERTAKEN = "tuple concurrently"
"""How the message begins when another session has changed the same role or right; its SQLSTATE says nothing."""

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

Publish = Callable[[Transaction], object]


def publish_nothing(_tx: Transaction) -> None:
    """For who wants the schema alone."""


def upgrade(
    settings: Settings,
    publish: Publish = publish_nothing,
    *,
    migrations: Path = MIGRATIONS,
    wait_s: float = WAIT_S,
    silent_s: float = SILENT_S,
    pause: Callable[[float], object] = NEVER.wait,
) -> None:
    """Run every migration that is missing, as the owner; reset what a role may have changed of itself; `publish`.

    Of several at once, each waits for the one before and finds its work done. Raises `Forbidden` for a database that a
    newer release has migrated, and for an owner that lacks a right which only a superuser can give. For `wait_s`
    another migrator is waited for, and what somebody else has is tried again, after a `pause` each time: so the fleet
    gets on in between. Raises `Transient`, which names the table and the session that has it, when that was not enough,
    and `DatabaseUnavailable` when PostgreSQL is silent for `silent_s`.
    """
    url = read_url(settings.database_url, "database_url")
    with (
        translated(),
        only_migrator(url, wait_s, silent_s, pause) as session,
        watched(url, session, silent_s) as watch,
    ):
        ends_at = time.monotonic() + wait_s
        for part in (
            lambda: _run_missing(configuration(settings, session.engine, migrations)),
            lambda: _admit_roles(settings, session.engine),
            lambda: _publish(publish, session.engine),
        ):
            while not _is_done(part, session, watch, ends_at):
                pause(PAUSE_S)


def _is_done(part: Callable[[], None], session: MigrationSession, watch: WaitWatch, ends_at: float) -> bool:
    """Try a part of the work; False when somebody else has what it needs, and `Transient` after `ends_at`."""
    watch.blocker.forget()
    session.limit_lock_waits(LOCK_WAIT)
    try:
        part()
    except (psycopg.Error, DBAPIError, StatementAborted) as error:
        if not _passes(error):
            raise
        if time.monotonic() > ends_at:
            raise watch.given_up() from error
        return False
    return True


def _passes(error: psycopg.Error | DBAPIError | StatementAborted) -> bool:
    """Whether another session is to blame, and the work, which is rolled back, may be tried again."""
    # SQLAlchemy wraps the database's error where a statement went through it, and so does `fetch`.
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if not isinstance(cause, psycopg.Error):
        return False
    return cause.sqlstate in {TAKEN, DEADLOCK} or (cause.diag.message_primary or "").startswith(OVERTAKEN)


def _run_missing(config: Config) -> None:
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise Forbidden("a newer release has migrated this database: migrate with that one") from error


def _admit_roles(settings: Settings, engine: Engine) -> None:
    with engine.begin() as connection:
        raw = _driver(connection)
        for role in (LEDGER_ROLE, TENANT_ROLE):
            password = _given_password(settings, role)
            if password is not None:
                # Not the password: statements stand in the server's log and in pg_stat_activity.
                verifier = raw.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
                change = sql.SQL("alter role {} password {}")
                raw.execute(change.format(sql.Identifier(role), sql.Literal(verifier)))
        # Readiness compares schema and release as the ledger; the table is Alembic's, so no migration makes it.
        raw.execute(sql.SQL("grant select on alembic_version to {}").format(sql.Identifier(LEDGER_ROLE)))
        raw.execute("call postroom.secure()")


def _publish(publish: Publish, engine: Engine) -> None:
    """Call `publish`; the last part, for from now on the session takes numbered parameters only."""
    with engine.begin() as connection:
        prepare_connection(_driver(connection), None)
        publish(Transaction(connection))


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    """The connection of psycopg, for what SQLAlchemy would read as parameters."""
    raw = connection.connection.driver_connection
    if not isinstance(raw, psycopg.Connection):
        raise TypeError("the owner's connection is none of psycopg's")
    return raw


def _given_password(settings: Settings, role: str) -> str | None:
    """The password of a role's URL; None for a URL without one, or of a login that an administrator made."""
    url = role_url(settings, role)
    return (url.password or None) if url.username == role else None


def configuration(settings: Settings, engine: Engine | None = None, migrations: Path = MIGRATIONS) -> Config:
    """Alembic's configuration, without a file; without an engine, each run opens a connection of its own."""
    config = Config()
    config.set_main_option("script_location", str(migrations))
    url = read_url(settings.database_url, "database_url")
    config.attributes["engine"] = engine or create_engine(url, poolclass=NullPool)
    return config
