"""An instant in a payload is taken with its offset at every entry point, and kept in one form in UTC."""

from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Invalid
from engine.runtime import Runtime
from tests.engine.entry_points import ENTRY_POINTS, EVERY_WAY, EntryPoint, celery, sql

BACKFILL = {"job_type": "gmail.backfill"}
ACCOUNT = "00000000-0000-4000-8000-00000000abcd"
SPELLINGS = {
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00Z",
    "2026-01-01t01:00:00+01:00": "2026-01-01T00:00:00Z",
    "2025-12-31 18:30-0530": "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z": "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00,5Z": "2026-01-01T00:00:00.500000Z",
    "2026-01-01T00:00:00.123456789Z": "2026-01-01T00:00:00.123456Z",
}
NO_INSTANTS = (
    "2026-01-01T00:00:00",
    "2026-01-01",
    "yesterday",
    "now",
    "infinity",
    "1767225600",
    "2026-13-01T00:00:00Z",
    1767225600,
)


@pytest.mark.parametrize("enqueue", EVERY_WAY.values(), ids=EVERY_WAY)
def test_each_entry_point_keeps_one_spelling_and_one_unique_job(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    for spelling, kept in SPELLINGS.items():
        job_id = enqueue(process, org, BACKFILL | {"payload": {"account_id": ACCOUNT, "since": spelling}})
        row = database.execute("select payload ->> 'since' from jobs where id = %s", (job_id,)).fetchone()
        assert row == (kept,), spelling
    (jobs,) = database.execute("select count(*) from jobs").fetchone() or (0,)
    # A contract of Celery's has a key of its own, which comes before the type's.
    assert jobs == (len(SPELLINGS) if enqueue is celery else len(set(SPELLINGS.values())))


@pytest.mark.parametrize("enqueue", ENTRY_POINTS.values(), ids=ENTRY_POINTS)
def test_each_entry_point_refuses_what_names_no_instant_by_its_field(
    process: Runtime, org: UUID, database: Connection, enqueue: EntryPoint
) -> None:
    for said in NO_INSTANTS:
        with pytest.raises(Invalid) as refused:
            enqueue(process, org, BACKFILL | {"payload": {"account_id": ACCOUNT, "since": said}})
        assert refused.value.field == "payload.since", said
        assert ("time" in refused.value.reason) or enqueue is sql
    assert database.execute("select count(*) from jobs").fetchone() == (0,)
