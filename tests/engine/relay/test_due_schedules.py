"""The relay fires due schedules, and one that cannot run holds up no other."""

from uuid import UUID

from psycopg import Connection

from domain.jobs.job import Origin
from domain.scheduling.cron import Missed, Timetable
from engine.relay.due_schedules import MOST_PER_TURN, DueSchedules
from engine.runtime import Runtime
from storage.schedules import schedules
from storage.schedules.schedules import RequestedJob
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org

NIGHTLY = Timetable("0 3 * * *", "UTC", Missed.RUN_ONCE)


def add(process: Runtime, org: UUID, name: str, job_type: str) -> None:
    with process.database.ledger() as tx:
        schedules.add(tx, org, name, RequestedJob(job_type, {}, 1), NIGHTLY, by=Origin())


def jobs_of_orgs(database: Connection) -> dict[UUID, int]:
    return dict(database.execute("select org_id, count(*) from jobs group by org_id").fetchall())


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


def test_the_schedules_of_one_org_keep_no_other_org_waiting(process: Runtime, org: UUID, database: Connection) -> None:
    add(process, org, "one of many", probe_jobs.noop.name)
    others = [make_org(database, f"org {number}") for number in range(3)]
    for other in others:
        add(process, other, "its only one", probe_jobs.noop.name)
    database.execute("update schedules set next_run_at = now() - interval '1 s'")
    many = (
        "insert into schedules (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at,"
        " created_by)"
        " select org_id, name || n, job_type, payload, 1, cron, zone, missed, next_run_at - interval '9 s', created_by"
        " from schedules, generate_series(1, %s) as n where org_id = %s"
    )
    database.execute(many, (MOST_PER_TURN, org))
    due = DueSchedules(process)
    assert due.turn() is True, "more are due"
    assert jobs_of_orgs(database) == {org: MOST_PER_TURN - 3} | dict.fromkeys(others, 1)
    assert due.turn() is False
    assert jobs_of_orgs(database)[org] == MOST_PER_TURN + 1
