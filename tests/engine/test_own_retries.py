"""A job may bring its own number of attempts, and its own times between them, by every enqueue."""

from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from engine.runtime import Runtime
from tests.engine.entry_points import ENTRY_POINTS, GOOD, EntryPoint


@pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
def test_each_entry_point_takes_a_number_of_attempts(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    """Who names none gets the type's."""
    job_id = enqueue(process, org, {"payload": GOOD, "max_attempts": 2})
    other_id = enqueue(process, org, {"payload": {"account_id": str(uuid4())}})
    rows = database.execute(
        "select j.id, j.max_attempts = 2, j.max_attempts = t.max_attempts"
        " from jobs j join job_types t on t.name = j.job_type"
    ).fetchall()
    assert set(rows) == {(job_id, True, False), (other_id, False, True)}


@pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
def test_each_entry_point_takes_the_times_of_a_retry(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    job_id = enqueue(process, org, {"payload": GOOD, "retry_base_s": 2, "retry_cap_s": 40})
    row = database.execute("select id, retry_base_s, retry_cap_s from jobs").fetchall()
    assert row == [(job_id, 2, 40)]
