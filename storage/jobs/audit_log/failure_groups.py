"""Failures by their kind: added by the process that counts, marked by operators."""

from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from domain.instants import written
from domain.jobs.monitoring.failure_kinds import MOST_READ, bounded, kind_of
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

RETENTION = Retention("failure_groups", since="last_seen", age=timedelta(days=90))
MISSING = "no failure of a job has this fingerprint"


def add(tx: Transaction, *, after: int, upto: int) -> None:
    """Add the failures between two places of the audit log to their groups, in the transaction that counts them."""
    known = {row.fingerprint for row in tx.run("list_known_failures")}
    groups: dict[str, dict[str, Any]] = {}
    for row in tx.run("list_failures", after=after, upto=upto, longest=MOST_READ):
        kind = bounded(kind_of(row.job_type, row.code, row.reason), known)
        known.add(kind.fingerprint)
        own = groups.setdefault(
            kind.fingerprint,
            kind._asdict() | {"first_seen": row.first_seen, "last_seen": row.last_seen, "failures": 0, "job_ids": []},
        )
        own["first_seen"], own["last_seen"] = (
            min(own["first_seen"], row.first_seen),
            max(own["last_seen"], row.last_seen),
        )
        own["failures"] += row.failures
        own["job_ids"] += [str(job_id) for job_id in row.job_ids]
    times = ("first_seen", "last_seen")
    rows = [own | {name: written(own[name]) for name in times} | {"job_ids": _newest(own)} for own in groups.values()]
    tx.run("add_failures", rows=Jsonb(rows))


def _newest(group: dict[str, Any]) -> list[str]:
    """The ids of the newest jobs of a group, by their ids."""
    return sorted(group["job_ids"], reverse=True)[:20]


def read(tx: Transaction, fingerprint: str) -> Row:
    """A kind of failure, with the ids of its newest jobs; raises `Gone` when it is not known."""
    return tx.one("read_failure_group", MISSING, fingerprint=fingerprint)


def mark(tx: Transaction, fingerprint: str, *, state: str, note: str | None, by: str) -> Row:
    """Say what is known of a kind of failure; raises `Gone` when it is not known."""
    return tx.one("mark_failure_group", MISSING, fingerprint=fingerprint, state=state, note=note, by=by)
