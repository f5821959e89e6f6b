"""How a role logs in: its URL, and in plain words why PostgreSQL did not let it in."""

import hashlib
import hmac
import re

from psycopg import ProgrammingError
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from domain.diagnosis import Diagnosis
from domain.jobs.failures import Invalid
from settings import Settings

LEDGER_ROLE = "postroom_ledger"
TENANT_ROLE = "postroom_tenant"
AUDITOR_ROLE = "postroom_auditor"
"""A handler that may write details of the audit log and nothing else."""
WATCH_ROLE = "postroom_watch"
"""Who scales workers or draws charts: it reads the history of jobs and the depth of a queue, and nothing else."""
ROLES = (LEDGER_ROLE, TENANT_ROLE, AUDITOR_ROLE, WATCH_ROLE)
"""Those that log in, beside the owner."""
SCHEMES = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
MIGRATE = "run `celery -A tasks database migrate`"
GRANT = "let the database's owner grant it again, as in storage/migrations/sql: a migration that has run grants nothing"


SILENT = Diagnosis("it did not answer", "start PostgreSQL and see that the database URL is right", lasts=False)

# libpq keeps the SQLSTATE of a refused login to itself, so the words of its message decide. A server that speaks
# another language than English gives `SILENT`, which is still true.
REFUSALS = (
    (
        r'database ".*" does not exist',
        Diagnosis("the database does not exist", f"create it, or mend its name in the database URL; then {MIGRATE}"),
    ),
    (
        r'role ".*" does not exist',
        Diagnosis("the role does not exist", f"{MIGRATE}, which makes the roles, or mend the user in the database URL"),
    ),
    (
        # With a password, PostgreSQL says the same for a role that does not exist.
        "password authentication failed|no password supplied",
        Diagnosis(
            "the password is wrong, or the role does not exist",
            f"{MIGRATE} with this process's POSTROOM_SEALING_KEYS and database URLs, from which the roles' passwords"
            " follow; or mend the password in the role's own database URL",
        ),
    ),
    (
        "is not permitted to log in",
        Diagnosis("the role may not log in", "let an administrator run `alter role … login`"),
    ),
    (
        r"pg_hba\.conf",
        Diagnosis("the server admits no such login from this machine", "add a line for it to the server's pg_hba.conf"),
    ),
    (
        "too many clients|too many connections|remaining connection slots",
        Diagnosis(
            "it has no connection left", "raise max_connections, or lower POSTROOM_DATABASE_POOL_SIZE", lasts=False
        ),
    ),
    ("starting up|shutting down|recovery", Diagnosis("it is starting or stopping", "wait a moment", lasts=False)),
    (
        "Connection refused",
        Diagnosis(
            "nobody listens at its address", "start PostgreSQL, or mend host and port in the database URL", lasts=False
        ),
    ),
    (
        "could not translate host name",
        Diagnosis(
            "its host name is unknown",
            "mend the host in the database URL; in a password, encode @, : and /",
            lasts=False,
        ),
    ),
)
"""Words of a refusal, and what they mean; the first that fits counts."""


def refusal(message: str) -> Diagnosis | None:
    """Why a login was refused, by the message of libpq; None for words that say nothing of a login."""
    found = (diagnosis for words, diagnosis in REFUSALS if re.search(words, message))
    return next(found, None)


def read_url(given: SecretStr, setting: str) -> URL:
    """A URL of PostgreSQL for psycopg; raises `Invalid` with the setting's name and without its content."""
    try:
        url = make_url(given.get_secret_value())
    except (ArgumentError, ValueError):
        raise Invalid(f"POSTROOM_{setting.upper()}", "is no URL, as postgresql://user@host:5432/database") from None
    if url.drivername not in SCHEMES:
        raise Invalid(f"POSTROOM_{setting.upper()}", "is no URL of PostgreSQL: it must begin with postgresql://")
    url = url.set(drivername="postgresql+psycopg")
    try:
        _, options = url.get_dialect()().create_connect_args(url)
        make_conninfo(**options)
        # libpq reads a word that is no number as none; psycopg refuses it when it connects.
        int(options.get("connect_timeout", 0))
    except (ArgumentError, ProgrammingError, ValueError):
        words = ", ".join(sorted(url.query))
        raise Invalid(f"POSTROOM_{setting.upper()}", f"has an option that PostgreSQL does not take: {words}") from None
    return url


def role_url(settings: Settings, role: str) -> URL:
    """The URL by which a role logs in: its own setting, or the one it follows from with a password that follows, too.

    The engine's follows from the owner's URL and the first sealing key; the others from the engine's, also where
    that one is given, so that production names one login. One without a password gives logins without passwords.
    """
    setting = f"{role.removeprefix('postroom_')}_database_url"
    given: SecretStr | None = getattr(settings, setting)
    if given is not None:
        return read_url(given, setting)
    if role == LEDGER_ROLE:
        source = read_url(settings.database_url, "database_url")
        secret = settings.sealing_keys.get_secret_value().split(",")[0]
    else:
        source = role_url(settings, LEDGER_ROLE)
        _, options = source.get_dialect()().create_connect_args(source)
        secret = options.get("password") or ""
    password = hmac.new(secret.encode(), role.encode(), hashlib.sha256).hexdigest() if secret else None
    # As options of the query, they would count before the role's own.
    return source.difference_update_query(("user", "password")).set(username=role, password=password)
