"""Schedules: one job per due time, in one transaction with the next; each org sees its own."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.errors import ForeignKeyViolation

from domain.jobs.failures import Conflict, Forbidden, Gone, Invalid
from domain.jobs.job import Origin
from domain.jobs.scheduling.cron import Missed, Timetable
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import MOST_KEPT, DueSchedule, RequestedJob, Schedule
from storage.orgs.access import users
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org

ADA = Origin(actor_id="operator:ada")
WORK = RequestedJob("probe.run", {"n": 7}, 1)
ALL = {"after_org_id": None, "after_name": None, "limit": 9}


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store)
    return make_org(database)


def add(
    store: Database,
    org: UUID,
    name: str = "hourly",
    cron: str = "0 * * * *",
    *,
    missed: Missed = Missed.SKIP,
    owner_id: UUID | None = None,
) -> Schedule:
    with store.ledger() as tx:
        return schedules.add(tx, org, name, WORK, Timetable(cron, "UTC", missed), owner_id=owner_id, by=ADA)


def make_due(database: Connection, since: timedelta) -> datetime:
    """Move all schedules back to the full hour before so long ago."""
    row = database.execute(
        "update schedules set next_run_at = date_trunc('hour', now() - %s) returning next_run_at", (since,)
    ).fetchone()
    assert row is not None
    return datetime.fromisoformat(row[0].isoformat())


def fire(store: Database) -> int | None:
    """Fire one schedule; None when none is due."""
    with store.ledger() as tx:
        due = take_due(tx)
        return None if due is None else schedules.fire(tx, due, hint_timeout=HINT_TIMEOUT)


def take_due(tx: Transaction) -> DueSchedule | None:
    found = schedules.list_due(tx, limit=1)
    return schedules.take_due(tx, found[0][0]) if found else None


def jobs(database: Connection) -> list[tuple[object, ...]]:
    return database.execute("select run_at, payload, actor_id, org_id from jobs order by run_at").fetchall()


def test_a_new_schedule_is_due_at_its_next_time(store: Database, org: UUID, database: Connection) -> None:
    made = add(store, org)
    now = datetime.now(UTC)
    assert now < made.next_run_at <= now + timedelta(hours=1, seconds=5)
    assert fire(store) is None
    audited = database.execute("select event, actor_id, org_id from audit_log").fetchall()
    assert audited == [("schedule.added", "operator:ada", org)]


def test_each_due_time_has_one_job(store: Database, org: UUID, database: Connection) -> None:
    add(store, org, missed=Missed.RUN_ALL)
    first = make_due(database, timedelta(hours=2))
    assert fire(store) == 3
    assert fire(store) is None
    expected = [(first + timedelta(hours=n), {"n": 7}, "schedule:hourly", org) for n in range(3)]
    assert jobs(database) == expected
    with store.ledger() as tx:
        (after,) = tx.run("list_schedules", **ALL)
    assert after.last_run_at == first + timedelta(hours=2)
    assert after.next_run_at == first + timedelta(hours=3)


def test_a_time_that_had_its_job_gets_no_other(store: Database, org: UUID, database: Connection) -> None:
    """Whoever sets a schedule back, as a restored backup would, finds the keys taken."""
    add(store, org, missed=Missed.RUN_ALL)
    make_due(database, timedelta(hours=1))
    assert fire(store) == 2
    make_due(database, timedelta(hours=1))
    assert fire(store) == 0
    assert len(jobs(database)) == 2


@pytest.mark.parametrize(("missed", "count"), [(Missed.SKIP, 0), (Missed.RUN_ONCE, 1)])
def test_what_was_missed_goes_by_the_policy(
    store: Database, org: UUID, database: Connection, *, missed: Missed, count: int
) -> None:
    add(store, org, cron="30 3 1 1 *", missed=missed)
    make_due(database, timedelta(hours=5))
    assert fire(store) == count
    assert fire(store) is None


@pytest.mark.parametrize(("missed", "count"), [(Missed.SKIP, 0), (Missed.RUN_ONCE, 1), (Missed.RUN_ALL, 3)])
def test_schedules_sleep_while_the_fleet_is_paused(
    store: Database, org: UUID, database: Connection, *, missed: Missed, count: int
) -> None:
    """Afterwards each policy says what becomes of what was due meanwhile; a gate that is over is none."""
    add(store, org, missed=missed)
    # Of a due time that is just over nobody can say that it was missed, so the next one is put far away.
    database.execute("update schedules set cron = extract(minute from now() - interval '30 min')::int || ' * * * *'")
    database.execute("update schedules set next_run_at = date_trunc('minute', now() - interval '150 min')")
    for scope, until in (("fleet", "infinity"), ("queue", "infinity"), ("fleet", "epoch")):
        key = "" if scope == "fleet" else "default"
        database.execute(
            "insert into gates (scope, key, reason, until, actor) values (%s, %s, 'rest', %s, 'ada')"
            " on conflict (scope, key, cause) do update set until = excluded.until",
            (scope, key, until),
        )
        if (scope, until) != ("fleet", "epoch"):
            assert fire(store) is None
    assert jobs(database) == []
    assert fire(store) == count
    assert fire(store) is None


def make_user(database: Connection, org: UUID, email: str = "ada@example.com") -> UUID:
    row = database.execute("insert into users (org_id, email) values (%s, %s) returning id", (org, email)).fetchone()
    assert row is not None
    return UUID(str(row[0]))


def test_the_owner_of_a_schedule_is_the_actor_of_its_jobs(store: Database, org: UUID, database: Connection) -> None:
    owner = make_user(database, org)
    made = add(store, org, missed=Missed.RUN_ONCE, owner_id=owner)
    make_due(database, timedelta(hours=1))
    assert fire(store) == 1
    rows = database.execute("select actor_type, actor_id, request_id from jobs").fetchall()
    assert rows == [("user", str(owner), f"schedule:{made.schedule_id}")]
    with store.ledger() as tx:
        assert [one.owner_id for one in tx.run("list_schedules", **ALL)] == [owner]


def test_the_schedules_of_a_person_who_is_removed_stop(store: Database, org: UUID, database: Connection) -> None:
    """Those of others go on; one that is resumed then is the org's own."""
    gone, other = make_user(database, org), make_user(database, org, "bob@example.com")
    add(store, org, "theirs", missed=Missed.RUN_ONCE, owner_id=gone)
    add(store, org, "another's", missed=Missed.RUN_ONCE, owner_id=other)
    make_due(database, timedelta(hours=1))
    with store.ledger() as tx:
        users.remove(tx, org, "ada@example.com")
    assert (fire(store), fire(store)) == (1, None)
    with store.ledger() as tx:
        found = {one.name: (one.enabled, one.owner_id, one.stopped) for one in tx.run("list_schedules", **ALL)}
        resumed = schedules.resume(tx, org, "theirs", by=ADA)
    assert found == {"another's": (True, other, None), "theirs": (False, None, "its owner was removed")}
    assert (resumed.enabled, resumed.owner_id) == (True, None)


def test_nobody_removes_a_person_whose_schedules_go_on(store: Database, org: UUID, database: Connection) -> None:
    """Who adds a schedule at that moment is waited for."""
    owner = make_user(database, org)
    removing = threading.Thread(target=lambda: remove(store, org))
    with store.ledger() as tx:
        schedules.add(tx, org, "late", WORK, Timetable("0 * * * *", "UTC", Missed.SKIP), owner_id=owner, by=ADA)
        removing.start()
    removing.join()
    rows = database.execute("select enabled, stopped, (select count(*) from users) from schedules").fetchall()
    assert rows == [(False, "its owner was removed", 0)]
    with pytest.raises(ForeignKeyViolation):
        database.execute("update schedules set owner_id = %s", (owner,))


def remove(store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        users.remove(tx, org, "ada@example.com")


def test_two_leaders_do_not_fire_the_same_schedule(store: Database, org: UUID, database: Connection) -> None:
    add(store, org, missed=Missed.RUN_ALL)
    make_due(database, timedelta(hours=1))
    with store.ledger() as tx:
        assert take_due(tx) is not None
        beside: list[int | None] = []
        other = threading.Thread(target=lambda: beside.append(fire(store)))
        other.start()
        other.join()
    assert beside == [None]
    assert fire(store) == 2


def test_a_refused_job_leaves_the_schedule_as_it_was(store: Database, org: UUID, database: Connection) -> None:
    made = add(store, org, missed=Missed.RUN_ALL)
    due_at = make_due(database, timedelta(hours=1))
    database.execute("delete from job_types")
    with pytest.raises(Invalid, match="not a known job type"):
        fire(store)
    with store.ledger() as tx:
        (found,) = tx.run("list_schedules", **ALL)
        assert found.next_run_at == due_at
        schedules.stop(tx, made, "another due time")
        schedules.stop(tx, found, "there is no such job type")
        (stopped,) = tx.run("list_schedules", **ALL)
    assert not stopped.enabled
    assert stopped.stopped
    assert fire(store) is None


def test_a_paused_schedule_owes_nothing_when_it_is_resumed(store: Database, org: UUID, database: Connection) -> None:
    add(store, org, missed=Missed.RUN_ALL)
    with store.ledger() as tx:
        assert not schedules.pause(tx, org, "hourly", by=ADA).enabled
    make_due(database, timedelta(hours=9))
    assert fire(store) is None
    with store.ledger() as tx:
        resumed = schedules.resume(tx, org, "hourly", by=ADA)
    assert resumed.enabled
    assert resumed.next_run_at > datetime.now(UTC)
    assert fire(store) is None


def test_a_name_is_taken_once_per_org_and_free_again(store: Database, org: UUID, database: Connection) -> None:
    add(store, org)
    add(store, make_org(database, "another org"))
    with pytest.raises(Conflict, match="hourly"):
        add(store, org)
    with store.ledger() as tx:
        schedules.remove(tx, org, "hourly", by=ADA)
        with pytest.raises(Gone, match="hourly"):
            schedules.remove(tx, org, "hourly", by=ADA)
    add(store, org)


def flood(database: Connection, org: UUID, count: int) -> None:
    """Give an org so many schedules that are due."""
    database.execute(
        "insert into schedules (org_id, name, job_type, payload, payload_version, cron, zone, missed, next_run_at,"
        " created_by)"
        " select %s, 'n' || n, 'probe.run', '{}', 1, '0 * * * *', 'UTC', 'skip', now() - n * interval '1 s', 'x'"
        " from generate_series(1, %s) as n",
        (org, count),
    )


def test_the_orgs_take_turns(store: Database, org: UUID, database: Connection) -> None:
    orgs = sorted([org, *(make_org(database, name) for name in ("b", "c"))])
    for each, count in zip(orgs, (9, 1, 3), strict=True):
        flood(database, each, count)
    a, b, c = orgs
    with store.ledger() as tx:
        in_turns = [found for _, found in schedules.list_due(tx, limit=99)]
        after_first = [found for _, found in schedules.list_due(tx, after=a, limit=5)]
    assert in_turns == [a, b, c, a, c, a, c, *[a] * 6]
    assert after_first == [b, c, a, c, a]


def test_an_org_keeps_a_bounded_number_of_schedules(store: Database, org: UUID, database: Connection) -> None:
    flood(database, org, MOST_KEPT - 1)
    refused: list[str] = []

    def add_beside() -> None:
        try:
            add(store, org, "beside")
        except Forbidden as refusal:
            refused.append(refusal.reason)

    with store.ledger() as tx:
        schedules.add(tx, org, "last", WORK, Timetable("0 * * * *", "UTC", Missed.SKIP), by=ADA)
        other = threading.Thread(target=add_beside)
        other.start()
    other.join()
    assert refused == [f"an org keeps at most {MOST_KEPT} schedules"]
    add(store, make_org(database, "another org"))
    with store.ledger() as tx:
        schedules.remove(tx, org, "last", by=ADA)
    add(store, org)


def test_a_tenant_sees_its_own_and_changes_none(store: Database, org: UUID, database: Connection) -> None:
    add(store, org)
    add(store, make_org(database, "another org"))
    with store.tenant(org) as tx:
        assert [one.org_id for one in tx.run("list_schedules", **ALL)] == [org]
    row = database.execute("select has_table_privilege('postroom_tenant', 'schedules', 'insert, update, delete')")
    assert row.fetchone() == (False,)
