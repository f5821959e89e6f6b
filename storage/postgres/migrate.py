"""Brings a database to the newest schema, and sets its roles right: passwords, settings, rights."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from psycopg import sql
from sqlalchemy import create_engine

from domain.jobs.failures import Forbidden
from settings import Settings
from storage.postgres.execution import translated
from storage.postgres.logins import LEDGER_ROLE, TENANT_ROLE, read_url, role_url

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


def upgrade(settings: Settings) -> None:
    """Run every migration that is missing, as the owner; reset what a role may have changed of itself.

    Raises `Forbidden` for a database that a newer release has migrated.
    """
    with translated():
        try:
            command.upgrade(configuration(settings), "head")
        except CommandError as error:
            raise Forbidden("a newer release has migrated this database: migrate with that one") from error
        _admit_roles(settings)


def _admit_roles(settings: Settings) -> None:
    engine = create_engine(read_url(settings.database_url, "database_url"))
    with engine.begin() as connection:
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
