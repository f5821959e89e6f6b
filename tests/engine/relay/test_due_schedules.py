"""The relay fires due schedules and reminders, and what cannot run, or is locked, holds up no other org."""

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

import pytest
from psycopg import Connection
from structlog.testing import capture_logs

from domain.jobs.job import KeysOf, Origin
from domain.jobs.scheduling.cron import Missed, Timetable
from domain.payloads.reminders import DeliverPayload
from engine.relay.due_rows import MOST_ROWS, DueRows
from engine.relay.due_schedules import MOST_PER_TURN, DueSchedules
from engine.runtime import Runtime
from storage.jobs import ledger
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import RequestedJob
from storage.notifications import reminders
from storage.postgres.database import Transaction
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


def make_reminders(database: Connection, org_id: UUID, count: int) -> None:
    """Reminders of an org that have been due for a while, the first org's for longest."""
    user = database.execute(
        "insert into users (org_id, email) values (%s, 'ada@example.com') returning id", (org_id,)
    ).fetchone()
    assert user is not None
    database.execute(
        "insert into reminders (org_id, user_id, title, starts_local, zone, due_at, created_by)"
        " select %s, %s, 'x', now(), 'UTC', clock_timestamp() - interval '1 minute', 'x' from generate_series(1, %s)",
        (org_id, user[0], count),
    )


def test_ten_thousand_reminders_that_are_due_at_once_have_a_job_each(
    process: Runtime, org: UUID, database: Connection
) -> None:
    make_reminders(database, org, 10_000)
    due, turns = DueRows(process, reminders), 1
    while due.turn():
        turns += 1
    assert turns == 10_000 // MOST_ROWS + 1
    query = "select count(*), count(distinct payload ->> 'reminder_id'), count(distinct job_type) from jobs"
    assert database.execute(query).fetchone() == (10_000, 10_000, 1)
    assert database.execute("select count(*) from reminders where state <> 'queued'").fetchone() == (0,)


def test_many_reminders_of_one_org_hold_up_those_of_no_other(process: Runtime, org: UUID, database: Connection) -> None:
    others = [make_org(database, name) for name in ("second", "third")]
    make_reminders(database, org, 40)
    for other, count in zip(others, (12, 1), strict=True):
        make_reminders(database, other, count)
    due, turns = DueRows(process, reminders, most=5), 0
    while others[1] not in jobs_of_orgs(database):
        due.turn()
        turns += 1
    assert turns == 3, "each org before it has one turn"
    while due.turn():
        pass
    assert jobs_of_orgs(database) == {org: 40, others[0]: 12, others[1]: 1}


class Undone(Exception):
    """Ends a transaction without a trace."""


def hold_keys(held: Transaction, process: Runtime, org: UUID, reminders_of: Iterable[tuple[UUID, UUID]]) -> None:
    """As long as nobody knows whether these keys will be kept, whoever wants the same has to wait."""
    for reminder_id, user_id in reminders_of:
        job = DeliverPayload(reminder_id=reminder_id, user_id=user_id).job(
            org_id=org, idempotency_key=f"reminder:{reminder_id}:1", keys_of=KeysOf.FLEET
        )
        ledger.enqueue(held, [job], publisher=False, hint_timeout=process.hint_timeout)


@pytest.mark.parametrize("locks", ["rows", "keys"])
def test_a_locked_org_delays_the_reminders_of_no_other(
    process: Runtime, org: UUID, database: Connection, locks: str
) -> None:
    other = make_org(database, "other")
    make_reminders(database, org, 3)
    make_reminders(database, other, 2)
    names = database.execute("select id, user_id from reminders where org_id = %s", (org,)).fetchall()
    due = DueRows(process, reminders, most=3)
    with suppress(Undone), process.database.ledger() as held:
        if locks == "rows":
            held.raw("select from reminders where org_id = %(org)s for update", {"org": org})
        else:
            hold_keys(held, process, org, names)
        for _ in range(3):
            due.turn()
        assert jobs_of_orgs(database) == {other: 2}
        raise Undone
    DueRows(process, reminders).turn()
    assert jobs_of_orgs(database) == {other: 2, org: 3}


def test_an_org_that_a_turn_has_no_time_for_is_not_taken_for_a_locked_one(
    process: Runtime, org: UUID, database: Connection
) -> None:
    others = [make_org(database, f"org {number}") for number in range(8)]
    for owner in (org, *others):
        make_reminders(database, owner, 1)
    names = database.execute("select id, user_id from reminders where org_id = %s", (org,)).fetchall()
    due = DueRows(process, reminders, within_s=0.0)
    with suppress(Undone), process.database.ledger() as held, capture_logs() as logs:
        hold_keys(held, process, org, names)
        while due.turn():
            pass
        assert jobs_of_orgs(database) == dict.fromkeys(others, 1)
        raise Undone
    assert [line["org_id"] for line in logs if line["event"] == "due_rows_postponed"] == [str(org)]
