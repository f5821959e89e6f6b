"""A session of the owner's, for what no role of the fleet may do: rows leave a ledger whole, or come into one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from pydantic import SecretStr
from sqlalchemy import Engine, StaticPool, create_engine, event

from storage.postgres.bounded import ANSWER_MARGIN_S, connect_bounded
from storage.postgres.execution import prepare_connection, translated
from storage.postgres.logins import read_url
from storage.postgres.transaction import Transaction

LONGEST_S = 3600.0
"""How long one statement may take; a copy of a table is answered piece by piece."""
LOCK_WAIT = "2s"
"""How long it waits for what somebody has locked: whoever wants that next waits behind it."""
SETTINGS = (
    f"set statement_timeout = '{LONGEST_S:.0f}s'",
    f"set lock_timeout = '{LOCK_WAIT}'",
    "set idle_in_transaction_session_timeout = 0",
    "set idle_session_timeout = 0",
    "set transaction_timeout = 0",
    # A plan for any org takes the mailbox alone for as good as a row's whole key, and reads all that a large one has.
    "set plan_cache_mode = force_custom_plan",
    "set search_path = public, pg_temp",
    # A value is written alike by two servers whose owners have other habits.
    "set timezone = 'UTC'",
    "set datestyle = 'ISO, MDY'",
    "set intervalstyle = 'postgres'",
    "set bytea_output = 'hex'",
    "set extra_float_digits = 1",
)


class OwnersSession:
    """One session, with one transaction at a time."""

    def __init__(self, engine: Engine) -> None:
        """Of an engine that has the session alone."""
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction, which is rolled back when anything goes wrong."""
        with translated(), self._engine.begin() as connection:
            yield Transaction(connection)


@contextmanager
def owners_session(given: SecretStr, setting: str) -> Iterator[OwnersSession]:
    """Log in by the owner's URL; raises `Invalid` for one that is none, `DatabaseUnavailable` where nobody answers."""
    url = read_url(given, setting)
    _, options = url.get_dialect()().create_connect_args(url)
    options["application_name"] = "postroom:owner"
    with (
        translated(),
        closing(connect_bounded(answer_within_s=LONGEST_S + ANSWER_MARGIN_S, autocommit=True, **options)) as session,
    ):
        session.execute(";".join(SETTINGS).encode())
        session.autocommit = False
        made = create_engine(
            "postgresql+psycopg://",
            creator=lambda: session,
            poolclass=StaticPool,
            use_native_hstore=False,
            hide_parameters=True,
        )
        event.listen(made, "connect", prepare_connection)
        yield OwnersSession(made)


def carry(source: Transaction, leaving: str, target: Transaction, taking: str) -> int:
    """Send what a `copy … to stdout` gives into a `copy … from stdin`, piece by piece; returns how many rows."""
    with translated(), source.driver().cursor() as reader, target.driver().cursor() as writer:
        with reader.copy(leaving.encode()) as rows, writer.copy(taking.encode()) as place:
            for piece in rows:
                place.write(piece)
        return writer.rowcount
