"""What must hold in every ledger and outside of it, whatever happened to its processes, for tests."""

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import Connection, rows

from storage.jobs import invariants
from storage.postgres.queries import statement

BATCH = 100_000

STRAY_GUARDS = """
select format('the guard %s, which says %s, names job %s (%s), whose key it is not', k.key, k.status, j.id, j.state)
from idempotency_keys k join jobs j on j.id = k.job_id
where k.kind <> 'effect' and (k.owner_token is not null or j.idempotency_key <> k.key or not j.guarded)
"""
"""Guards that name a job whose key they are not. Reads the whole table."""

WRONG_PARKS = """
select wrong from (
  select format('job %s with the key %s is parked by %s', id, serial_key, parked_by) as wrong
  from jobs where parked_by like 'key:%' and parked_by <> 'key:' || coalesce(serial_key, '')
  union all
  select distinct format('jobs are parked by %s, which has room', serial_key)
  from jobs
  where parked_by like 'key:%' and postroom.serial_limit(serial_key)
    > (select count(*) from serial_slots s where s.serial_key = jobs.serial_key)
  union all
  select distinct format('jobs are parked by %s, which is open', parked_by)
  from jobs
  where parked_by like 'gate:%' and not exists (
    select from gates g where (g.until is null or g.until > now()) and parked_by = 'gate:' || g.scope || ':' || g.key)
) as found
"""
"""Parked jobs that wait for nothing: for another key than their own, a key with room, or a gate that is open."""


class OwnerStatements:
    """Runs the statements of `storage` on the owner's connection."""

    def __init__(self, connection: Connection[Any]) -> None:
        """Use this connection."""
        self._connection = connection

    def run(self, name: str, /, **parameters: object) -> Sequence[Any]:
        """The rows of the statement."""
        with self._connection.cursor(row_factory=rows.namedtuple_row) as cursor:
            return cursor.execute(statement(name).encode(), parameters).fetchall()


def check_ledger(connection: Connection[Any], *, open_jobs: int = 0) -> None:
    """Fail with everything that is wrong; `open_jobs` may legitimately be unfinished."""
    wrong = find_gaps(connection)
    unfinished = connection.execute("select id, state from jobs where finished_at is null").fetchall()
    if len(unfinished) != open_jobs:
        wrong.append(f"{len(unfinished)} jobs are unfinished instead of {open_jobs}: {unfinished[:5]}")
    assert not wrong, "\n".join(wrong)


def find_gaps(connection: Connection[Any], *, resting: bool = True) -> list[str]:
    """Everything that contradicts itself: audit logs, dead letters, guards, concurrency slots, parked jobs.

    While the fleet is not `resting`, jobs may be parked a moment longer than they need be: the relay finds them.
    """
    tx = OwnerStatements(connection)
    wrong: list[str] = []
    before: UUID | None = invariants.NEWEST
    while before is not None:
        gaps = invariants.audit_gaps(tx, before=before, batch=BATCH)
        wrong, before = [*wrong, *gaps.wrong], gaps.before
    wrong += [each for look in invariants.BOUNDED for each in look(tx)]
    for query in (STRAY_GUARDS, *([WRONG_PARKS] if resting else [])):
        wrong += [each for (each,) in connection.execute(query.encode())]
    letters = connection.execute(
        "select job_id from dead_letters d"
        " where not exists (select from jobs j where j.id = d.job_id and j.state = 'dead')"
    ).fetchall()
    return wrong + [f"letters without a dead job: {job_id}" for (job_id,) in letters]


def check_calls(calls: list[str]) -> None:
    """Fail when something was done to the outside world twice (promise P3)."""
    assert [call for call, times in Counter(calls).items() if times > 1] == []
