"""What the relay asks of the ledger: due jobs, lost hints, and whether the broker still holds its data."""

from datetime import timedelta
from typing import Any

import psycopg

from domain.job import Hint
from storage.database import Transaction

LEADER_KEY = 0x706F7374_726F6F6D
"""The advisory lock of the relay's leadership: "postroom" in ASCII."""

Session = psycopg.Connection[Any]
"""A connection of the relay's own: it holds the lock of leadership and hears the notifications."""

CHANNEL = "postroom_due"
"""The notification that wakes the relay when a job was enqueued by a door that cannot publish."""


def publish_due(tx: Transaction, *, batch: int, patience: timedelta) -> tuple[Hint, ...]:
    """Mark due jobs as published and return their hints, which the caller publishes after the commit."""
    return tuple(
        Hint(r.id, r.job_type, r.queue, r.light) for r in tx.run("publish_due", batch=batch, patience=patience)
    )


def recall_hints(tx: Transaction) -> None:
    """Make every hint that is out due again, because the broker lost its data."""
    tx.run("recall_hints")


def known_epoch(tx: Transaction) -> str | None:
    """The broker's data set that the fleet last saw."""
    rows = tx.raw("select epoch from broker_epochs")
    return rows[0].epoch if rows else None


def remember_epoch(tx: Transaction, epoch: str) -> None:
    """Keep which data set the broker holds now."""
    tx.raw(
        "insert into broker_epochs (epoch) values (%(epoch)s)"
        " on conflict (only_row) do update set epoch = excluded.epoch, seen_at = now()",
        {"epoch": epoch},
    )


def lead(session: Session) -> bool:
    """Try to become the one active relay; held until the session ends."""
    row = session.execute("select pg_try_advisory_lock(%s)", (LEADER_KEY,)).fetchone()
    return bool(row and row[0])


def depose(session: Session, silent_for: timedelta) -> bool:
    """End the session of a leader that has said nothing for so long: it hangs, and would hold the lock for ever."""
    row = session.execute(
        "select pg_terminate_backend(a.pid) from pg_locks l join pg_stat_activity a on a.pid = l.pid"
        " where l.locktype = 'advisory' and l.granted and l.objsubid = 1"
        " and l.database = (select oid from pg_database where datname = current_database())"
        " and (l.classid::bigint << 32) + l.objid::bigint = %s"
        " and a.usename = session_user and a.state_change < clock_timestamp() - %s",
        (LEADER_KEY, silent_for),
    ).fetchone()
    return bool(row and row[0])


def listen(session: Session) -> None:
    """Subscribe to the wake-up notification."""
    session.execute(f"listen {CHANNEL}")


def wait(session: Session, seconds: float) -> bool:
    """Wait for a notification; true when one came, also a check that the session still lives."""
    session.execute("select 1")
    return any(True for _ in session.notifies(timeout=seconds, stop_after=1))
