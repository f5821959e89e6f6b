"""Failures by their kind: added by the process that counts, marked by operators."""

from datetime import timedelta
from typing import Any

from psycopg.types.json import Jsonb

from domain.instants import written
from domain.jobs.monitoring.failure_kinds import MOST_READ, bounded, comes_again, kind_of, release_order
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

RETENTION = Retention("failure_groups", since="last_seen", age=timedelta(days=90))
MISSING = "no failure of a job has this fingerprint"


def add(tx: Transaction, *, after: int, upto: int) -> None:
    """Add the failures between two places of the audit log to their groups, in the transaction that counts them."""
    known = {row.fingerprint: row for row in tx.run("list_known_failures")}
    fingerprints = set(known)
    groups: dict[str, dict[str, Any]] = {}
    releases: dict[str, set[str | None]] = {}
    for row in tx.run("list_failures", after=after, upto=upto, longest=MOST_READ):
        kind = bounded(kind_of(row.job_type, row.code, row.reason), fingerprints)
        fingerprints.add(kind.fingerprint)
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
        releases.setdefault(kind.fingerprint, set()).add(row.release)
    times = ("first_seen", "last_seen")
    before = {name: row.seen_in for name, row in known.items()}
    rows = [
        own
        | {name: written(own[name]) for name in times}
        | {"job_ids": _newest(own), "seen_in": max({*releases[one], before.get(one)}, key=release_order)}
        for one, own in groups.items()
    ]
    tx.run("add_failures", rows=Jsonb(rows))
    again = [one for one in groups if one in known and comes_again(known[one].mended_in, releases[one])]
    tx.run("reopen_failures", fingerprints=again)


def _newest(group: dict[str, Any]) -> list[str]:
    """The ids of the newest jobs of a group, by their ids."""
    return sorted(group["job_ids"], reverse=True)[:20]


def read(tx: Transaction, fingerprint: str) -> Row:
    """A kind of failure, with the ids of its newest jobs; raises `Gone` when it is not known."""
    return tx.one("read_failure_group", MISSING, fingerprint=fingerprint)


def mark(
    tx: Transaction, fingerprint: str, *, state: str, note: str | None, by: str, mended_in: str | None = None
) -> Row:
    """Say what is known of a kind of failure; raises `Gone` when it is not known."""
    marked = {"state": state, "note": note, "by": by, "mended_in": mended_in}
    return tx.one("mark_failure_group", MISSING, fingerprint=fingerprint, **marked)
