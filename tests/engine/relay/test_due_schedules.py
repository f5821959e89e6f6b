"""The relay fires due schedules, and one that cannot run holds up no other."""

from uuid import UUID

from psycopg import Connection

from domain.jobs.job import Origin
from domain.scheduling.cron import Missed, Timetable
from engine.relay.due_schedules import DueSchedules
from engine.runtime import Runtime
from storage.schedules import schedules
from storage.schedules.schedules import RequestedJob
from tests.doubles import probe_jobs

NIGHTLY = Timetable("0 3 * * *", "UTC", Missed.RUN_ONCE)


def add(process: Runtime, org: UUID, name: str, job_type: str) -> None:
    with process.database.ledger() as tx:
        schedules.add(tx, org, name, RequestedJob(job_type, {}, 1), NIGHTLY, by=Origin())


def test_due_schedules_are_fired_and_a_broken_one_is_stopped(process: Runtime, org: UUID, database: Connection) -> None:
    add(process, org, "broken", "gone.job")
    add(process, org, "good", probe_jobs.noop.name)
    database.execute(
        "update schedules set next_run_at = now() - case name when 'broken' then interval '2 h' else interval '1 h' end"
    )
    assert DueSchedules(process).turn() is False
    assert database.execute("select job_type, actor_id from jobs").fetchall() == [
        (probe_jobs.noop.name, "schedule:good")
    ]
    rows = database.execute(
        "select name, enabled, stopped, next_run_at > now() from schedules order by name"
    ).fetchall()
    assert rows == [
        ("broken", False, "job_type: gone.job is not a known job type", False),
        ("good", True, None, True),
    ]
    assert DueSchedules(process).turn() is False
