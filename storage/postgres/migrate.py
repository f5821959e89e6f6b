"""Brings a database to the newest schema, and sets its roles right: passwords, settings, rights."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from settings import Settings
from storage.postgres.database import LEDGER_ROLE, TENANT_ROLE, role_password
from storage.postgres.execution import translated

MIGRATIONS = Path(__file__).resolve().parent.parent / "migrations"


def upgrade(settings: Settings) -> None:
    """Run every migration that is missing, as the owner; reset what a role may have changed of itself."""
    with translated():
        command.upgrade(configuration(settings), "head")
        _admit_roles(settings)


def newest_revision(settings: Settings) -> str | None:
    """The migration that this release ends with."""
    return ScriptDirectory.from_config(configuration(settings)).get_current_head()


def _admit_roles(settings: Settings) -> None:
    engine = create_engine(make_url(settings.database_url.get_secret_value()).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        raw = connection.connection.driver_connection
        if raw is None:
            raise RuntimeError("the connection was closed while its roles were set up")
        for role, given in ((LEDGER_ROLE, settings.ledger_database_url), (TENANT_ROLE, settings.tenant_database_url)):
            password = role_password(settings, role) if given is None else _password_in(given, role)
            if password is not None:
                change = sql.SQL("alter role {} password {}")
                raw.execute(change.format(sql.Identifier(role), sql.Literal(password)))
        # Readiness compares schema and release as the ledger; the table is Alembic's, so no migration makes it.
        raw.execute(sql.SQL("grant select on alembic_version to {}").format(sql.Identifier(LEDGER_ROLE)))
        raw.execute("call postroom.secure()")
    engine.dispose()


def _password_in(url: SecretStr, role: str) -> str | None:
    """The password that a URL gives a role; None for a URL without one, or of a login that an administrator made."""
    given = make_url(url.get_secret_value())
    return given.password if given.username == role else None


def configuration(settings: Settings) -> Config:
    """Alembic's configuration, without a file; the URL stays out of its option parser."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["url"] = make_url(settings.database_url.get_secret_value()).set(drivername="postgresql+psycopg")
    return config
