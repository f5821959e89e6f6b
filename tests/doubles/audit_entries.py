"""Fills the audit log with what finished jobs leave, and says how far it is counted."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from psycopg import Connection

from storage.jobs.audit_log import exports
from storage.postgres.database import Database

ENTRY = "org_id, actor_type, actor_id, request_id, correlation_id, job_id, job_type, attempt"


def add_entries(
    database: Connection, org: UUID, jobs: int, *, age: timedelta = timedelta(days=40), filled: int = 0
) -> None:
    """Two entries for each of so many jobs that have left the ledger, three events in all, `filled` bytes in each."""
    database.execute(
        f"insert into audit_entries (at, began_at, event, data, {ENTRY})"
        " select now() - %(age)s + n * interval '1 microsecond',"
        " case when event = 'job.succeeded' then now() - %(age)s end, event,"
        " case when %(filled)s > 0 then jsonb_build_object('note', repeat('x', %(filled)s)) end,"
        " %(org)s, 'system', 'x', 'r', 'c' || n, job_id, 'probe.run', 1"
        " from (select n, uuidv7(-%(age)s) as job_id from generate_series(1, %(jobs)s) as n) as made,"
        " unnest(array['job.enqueued', 'job.succeeded']) as event order by n",
        {"age": age, "org": org, "jobs": jobs, "filled": filled},
    )


def count_all(database: Connection) -> None:
    """Let the metrics have counted all that is in the log."""
    database.execute("update counting set counted_to = (select last_value from audit_entries_id_seq)")


def left(database: Connection) -> int:
    """How many entries the log has."""
    row = database.execute("select count(*) from audit_entries").fetchone()
    assert row is not None
    return int(row[0])


def export_all(store: Database) -> None:
    """Record an export of everything that is in the log, as one file."""
    with store.ledger() as tx:
        newest = tx.raw("select max(id) as id from audit_entries")[0].id
        wanted = exports.begin(tx, before=datetime.now(UTC) + timedelta(days=1), settled=newest)
        assert wanted is not None
        assert exports.hold(tx, wanted)
        exports.finish(tx, wanted, events=1, sha256="0" * 64)
