"""Brings a database to the newest schema, and sets its roles right: passwords, settings, rights."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import psycopg
import structlog
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine
from sqlalchemy.exc import DBAPIError

from domain.jobs.failures import Forbidden, Transient
from settings import Settings
from storage.postgres.blocking_session import look_for_blocker
from storage.postgres.bounded import ANSWER_MARGIN_S, BoundedConnection, connect_bounded
from storage.postgres.database import Transaction
from storage.postgres.execution import DatabaseUnavailable, StatementAborted, prepare_connection, translated
from storage.postgres.logins import LEDGER_ROLE, ROLES, read_url, role_url
from storage.postgres.migration_rights import refuse_without_rights
from storage.postgres.sessions import SEARCH_PATH
from storage.postgres.store_mark import mark_unused_store
from storage.postgres.writes import QUESTION, why_refused

log = structlog.get_logger(__name__)

MIGRATING = "postroom migrate"
"""The application name of the session: by it whoever must end a migration knows which session to end."""
ONE_AT_A_TIME = 8_217_603_144
"""The advisory lock of whoever migrates a database; any number that nothing else in it uses."""

WAIT_S = 600
"""How long a migrator tries again to get what another session has: longer than any migration has taken so far."""
PAUSE_S = 1.0
"""How long a migration that found a table taken leaves it to others."""
LOCK_WAIT = "2s"
"""How long a migration waits for a table: whoever wants it next waits behind the migration, however short his own lock
is. A migration that gives up has changed nothing, and is tried again."""
TURN_WAIT = "900ms"
"""How long a statement waits for the migrators' lock: shorter than `deadlock_timeout`. Who builds an index beside a
running fleet waits for every statement that is older, and so for one that waits for the builder."""
LONGEST_S = 3600.0
"""How long a statement of a migration may take. PostgreSQL ends a longer one; one that does not answer is given up."""

TAKEN, DEADLOCK = "55P03", "40P01"
"""SQLSTATEs of a lock that was not had in time, and of a deadlock: PostgreSQL ends one of both, maybe the migration."""
OVERTAKEN = "tuple concurrently"
"""How the message begins when another session has changed the same role or right; its SQLSTATE says nothing."""
LIMITS = ("idle_in_transaction_session_timeout", "transaction_timeout", "idle_session_timeout")
"""What is set for a login is meant for sessions that hang."""

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"

NEVER = Event()
"""To wait for it is to pause."""

Publish = Callable[[Transaction], object]


def upgrade(
    settings: Settings,
    *publish: Publish,
    migrations: Path = MIGRATIONS,
    wait_s: float = WAIT_S,
    longest_s: float = LONGEST_S,
    pause: Callable[[float], object] = NEVER.wait,
) -> None:
    """Run every migration that is missing, as the owner; reset what a role may have changed of itself; `publish`.

    The folder of artifacts is marked where there are none yet. Each `publish` has a transaction of its own. Of several
    migrators at once, each waits for the one before and finds its work done. Raises `Forbidden` for a database that a
    newer release has migrated, and for an owner that lacks a right which only a superuser can give. What another
    session has is tried again for `wait_s`, after a `pause` each time: so the fleet gets on in between. Raises
    `Transient`, which names the session, when that was not enough, and `DatabaseUnavailable` for a server that takes no
    writes or does not answer for `longest_s`.
    """
    url = read_url(settings.database_url, "database_url")
    with translated(), _session(url, longest_s) as session:
        # Each of its connections is this session: another would not have the lock.
        engine = create_engine("postgresql+psycopg://", creator=lambda: session, poolclass=StaticPool)
        ends_at = time.monotonic() + wait_s
        for part, lock_wait in (
            (partial(_take_turn, session), TURN_WAIT),
            (partial(_run_missing, engine, migrations), LOCK_WAIT),
            (partial(_admit_roles, settings, engine), LOCK_WAIT),
            (partial(_mark_store, settings, engine), LOCK_WAIT),
            *((partial(_publish, one, engine), LOCK_WAIT) for one in publish),
        ):
            while not _is_done(part, session, lock_wait, url if time.monotonic() >= ends_at else None):
                log.warning("migration_waits", reason="another session has what it needs", tries_for_s=wait_s)
                pause(PAUSE_S)


def _is_done(part: Callable[[], None], session: BoundedConnection, lock_wait: str, last_look: URL | None) -> bool:
    """Try a part of the work; False when another session has what it needs, `Transient` at the last try."""
    session.execute(f"set lock_timeout = '{lock_wait}'".encode())
    session.commit()
    with look_for_blocker(last_look, session.info.backend_pid) as found:
        try:
            part()
        except (psycopg.Error, DBAPIError, StatementAborted) as error:
            if not _passes(error):
                raise
            if last_look is None:
                return False
            raise Transient(
                f"a migration waited too long for {found.holder}; end that session, by pg_terminate_backend or where it"
                " runs, and migrate again",
                code="database.locked",
            ) from error
    return True


def _passes(error: psycopg.Error | DBAPIError | StatementAborted) -> bool:
    """Whether another session is to blame, and the work, which is rolled back, may be tried again."""
    # SQLAlchemy wraps the database's error where a statement went through it, and so does `fetch`.
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if not isinstance(cause, psycopg.Error):
        return False
    return cause.sqlstate in {TAKEN, DEADLOCK} or (cause.diag.message_primary or "").startswith(OVERTAKEN)


@contextmanager
def _session(url: URL, longest_s: float) -> Iterator[BoundedConnection]:
    """Open the one session that migrates, for an owner who can; without its login's time limits and search path.

    By PostgreSQL's own search path, tables would go to the schema `postroom` where the owner has that name.
    """
    _, options = url.get_dialect()().create_connect_args(url)
    options["application_name"] = MIGRATING
    with closing(connect_bounded(answer_within_s=longest_s + ANSWER_MARGIN_S, autocommit=True, **options)) as session:
        given = [*(f"set {limit} = 0" for limit in LIMITS), f"set statement_timeout = '{longest_s:.0f}s'"]
        session.execute(";".join([*given, f"set search_path = {SEARCH_PATH}"]).encode())
        _refuse_without_writes(session)
        refuse_without_rights(session)
        session.autocommit = False
        yield session


def _refuse_without_writes(session: psycopg.Connection[Any]) -> None:
    with session.cursor(row_factory=dict_row) as cursor:
        answer = cursor.execute(QUESTION).fetchone() or {}
    cause = why_refused(is_standby=answer["is_standby"], is_read_only=answer["is_read_only"])
    if cause is not None:
        raise DatabaseUnavailable(cause.finding, cause)


def _take_turn(session: psycopg.Connection[Any]) -> None:
    """Take the migrators' lock for as long as the session lives: migrations commit, and build indexes outside."""
    with session.transaction():
        session.execute("select pg_advisory_lock(%s)", (ONE_AT_A_TIME,))


def _run_missing(engine: Engine, migrations: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(migrations))
    config.attributes["engine"] = engine
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise Forbidden("a newer release has migrated this database: migrate with that one") from error


def _admit_roles(settings: Settings, engine: Engine) -> None:
    with engine.begin() as connection:
        raw = _driver(connection)
        for role in ROLES:
            password = _given_password(settings, role)
            if password is not None:
                # Not the password: statements stand in the server's log and in pg_stat_activity.
                verifier = raw.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
                change = sql.SQL("alter role {} password {}")
                raw.execute(change.format(sql.Identifier(role), sql.Literal(verifier)))
        # Readiness compares schema and release as the ledger; the table is Alembic's, so no migration makes it.
        raw.execute(sql.SQL("grant select on alembic_version to {}").format(sql.Identifier(LEDGER_ROLE)))
        raw.execute("call postroom.secure()")


def _mark_store(settings: Settings, engine: Engine) -> None:
    with engine.begin() as connection:
        mark_unused_store(settings, _driver(connection))


def _publish(publish: Publish, engine: Engine) -> None:
    """Call `publish`; nothing but its like follows, for from now on the session takes numbered parameters only."""
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
