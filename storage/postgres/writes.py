"""Whether a server takes writes: a standby answers every question and refuses each change."""

import psycopg

from domain.diagnosis import Diagnosis
from storage.postgres.bounded import BoundedConnection

REFUSED = "25006"
"""The SQLSTATE of a change in a transaction that only reads."""

STANDBY = Diagnosis(
    "it takes no writes: it is a standby",
    "promote it, or let the database URL lead to the primary; jobs wait meanwhile",
    lasts=False,
)
READ_ONLY = Diagnosis(
    "it takes no writes: default_transaction_read_only is on",
    "see why somebody turned it on (a full disk?), and turn it off for the server, the database and the role;"
    " jobs wait meanwhile",
    lasts=False,
)

DISK_FULL = Diagnosis(
    "its disk is full",
    "make room on the disk of PostgreSQL's data (no file of pg_wal by hand), or enlarge it; jobs wait meanwhile",
    lasts=False,
)

QUESTION = "select pg_is_in_recovery() as is_standby, current_setting('transaction_read_only')::boolean as is_read_only"
"""Asked at the beginning of a transaction, whose `transaction_read_only` is the default then."""

LITTLE_MEMORY = "set local work_mem = '64kB'"
SPILL = "select count(*) as rows from generate_series(1, 50000)"
"""With little memory, writes a megabyte to the disk that is gone at once."""

NEEDED = (
    "select lower(r) || ' on ' || t as name from unnest(array['gates', 'idempotency_keys', 'jobs', 'workers']) as t"
    " cross join unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as r"
    " where not has_table_privilege(to_regclass('public.' || t), r) order by 1"
)
"""What the engine may not do of all that it must; nothing of a table that is not there."""


def why_refused(*, is_standby: bool, is_read_only: bool) -> Diagnosis | None:
    """Why a server takes no writes; None when it takes them."""
    if is_standby:
        return STANDBY
    return READ_ONLY if is_read_only else None


def refused_by_server(error: psycopg.Error, lent: BoundedConnection) -> Diagnosis | None:
    """Why the server refused this change; None for any other error, and when a transaction had made itself read-only.

    The server reports both settings to each connection, at its start and whenever one changes, so nobody is asked. That
    the transaction itself is read-only is not among them: a handler's SQL may have said so, and waiting would not help.
    Of a standby that is promoted in the midst of a transaction, the report comes with the refusal, and says it is none.
    """
    if error.sqlstate != REFUSED:
        return None
    reported = lent.info.parameter_status
    return why_refused(
        is_standby=lent.began_on_standby,
        is_read_only=reported("default_transaction_read_only") == "on",
    )
