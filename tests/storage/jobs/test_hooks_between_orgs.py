"""What an org does to its hooks concerns no other org; a hook that is owed is called once, however late."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from psycopg import Connection

from domain.jobs.failures import Transient
from domain.jobs.job import ClaimedJob, Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from storage.jobs import end_hooks, ledger
from storage.postgres.database import Database
from storage.postgres.execution import StatementAborted
from tests.doubles.end_hooks import hook_calls, make_hook, repair_hook
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW

FOLLOW_UP = "maintenance.run_end_hook"


@pytest.fixture
def org(store: Database, database: Connection) -> UUID:
    make_job_type(store, FOLLOW_UP, queue="maintenance")
    make_job_type(store, "probe.plain")
    database.execute("create table flows (org_id uuid, id int, n int)")
    database.execute("call postroom.fence_table('flows')")
    database.execute("grant select, insert, update on flows to postroom_tenant")
    make_hook(database, "bump", "update public.flows set n = n + 1 where id = 1;")
    make_job_type(store, "probe.node", on_end="bump")
    make_hook(database, "note")
    make_job_type(store, "probe.noted", on_end="note")
    return make_flow(database)


def make_flow(database: Connection) -> UUID:
    org = make_org(database)
    database.execute("insert into flows values (%s, 1, 0)", (org,))
    return org


def held(store: Database, org: UUID, job_type: str) -> ClaimedJob:
    return claim_one(store, enqueue_one(store, org, job_type))


def end(store: Database, *jobs: ClaimedJob) -> None:
    with store.statements() as tx:
        assert not ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in jobs]).refused


def count(database: Connection, org: UUID) -> int:
    row = database.execute("select n from flows where org_id = %s", (org,)).fetchone()
    assert row is not None
    return int(row[0])


def follow_ups(database: Connection) -> list[UUID]:
    query = "select id from jobs where job_type = %s and state = 'queued' order by id"
    return [row[0] for row in database.execute(query, (FOLLOW_UP,))]


def repeat(store: Database, follow_up: ClaimedJob) -> bool:
    with store.claimed(follow_up.org_id, follow_up.job_id, follow_up.token) as tx:
        return end_hooks.repeat(tx, follow_up)


@pytest.fixture
def locked(store: Database, org: UUID) -> Iterator[UUID]:
    """The org. A handler's open transaction locks the row that the hook updates."""
    with store.tenant(org) as tx:
        tx.raw("select from flows where id = 1 for update")
        yield org


def test_a_handler_that_lets_a_hook_run_out_of_time_defers_no_other_hook(
    store: Database, database: Connection, locked: UUID
) -> None:
    other = make_flow(database)
    mine, theirs = held(store, locked, "probe.node"), held(store, other, "probe.node")
    with store.claimed(locked, mine.job_id, mine.token) as tx:
        tx.raw("set local statement_timeout = '100ms'")
        ledger.settle_held(tx, mine, {}, 0, began_at=NOW)
    assert database.execute("select data ->> 'cause' from audit_log where event = 'job.hook_failed'").fetchall() == [
        ("timed_out",)
    ]
    end(store, theirs)
    assert count(database, other) == 1
    assert database.execute("select count(*) from hook_pauses").fetchone() == (0,)


def test_a_hook_that_waits_defers_those_of_its_org_and_type_alone(
    store: Database, database: Connection, locked: UUID
) -> None:
    other = make_flow(database)
    jobs = [held(store, locked, "probe.node") for _ in range(5)]
    end(store, *jobs, held(store, other, "probe.node"), held(store, locked, "probe.noted"))
    causes = database.execute("select payload ->> 'cause' from jobs where job_type = %s order by id", (FOLLOW_UP,))
    assert causes.fetchall() == [("waited",)] + [("deferred",)] * 4, "one wait in a statement, not five"
    end(store, held(store, locked, "probe.node"))
    assert len(follow_ups(database)) == 6
    assert database.execute("select count(*) from audit_log where event = 'job.hook_failed'").fetchone() == (1,)
    assert (count(database, other), len(hook_calls(database))) == (1, 1)


@pytest.mark.parametrize(("orgs", "called"), [(2, 1), (3, 0)])
def test_hooks_that_run_out_of_time_for_three_orgs_are_deferred_for_all(
    store: Database, database: Connection, org: UUID, orgs: int, called: int
) -> None:
    for _ in range(orgs):
        insert = "insert into hook_pauses values (%s, 'bump', 'timed_out', now() + interval '1 minute')"
        database.execute(insert, (make_org(database),))
    end(store, held(store, org, "probe.node"))
    assert count(database, org) == called


def test_a_follow_up_does_not_wait_long_for_a_lock(store: Database, database: Connection, locked: UUID) -> None:
    end(store, held(store, locked, "probe.node"))
    follow_up = claim_one(store, follow_ups(database)[0])
    with pytest.raises(StatementAborted, match="LockNotAvailable"):
        repeat(store, follow_up)


def test_a_hook_that_has_run_is_not_called_again_by_a_handler_of_its_org(
    store: Database, database: Connection, org: UUID
) -> None:
    ended = held(store, org, "probe.noted")
    end(store, ended)
    forged = enqueue_one(store, org, FOLLOW_UP, payload={"job_id": str(ended.job_id), "cause": "raised"})
    assert not repeat(store, claim_one(store, forged))
    assert len(hook_calls(database)) == 1


def test_a_follow_up_finds_its_facts_when_its_job_is_deleted_and_calls_once(
    store: Database, database: Connection, org: UUID
) -> None:
    make_hook(database, "mended", "perform 1 / 0;")
    make_job_type(store, "probe.mended", on_end="mended")
    ended = held(store, org, "probe.mended")
    end(store, ended)
    repair_hook(database, "mended")
    database.execute("delete from jobs where id = %s", (ended.job_id,))  # which retention does later
    follow_up = claim_one(store, follow_ups(database)[0])
    assert [repeat(store, follow_up) for _ in range(3)] == [True, False, False]
    ((called_for, facts),) = hook_calls(database)
    assert (called_for, facts["job_id"], facts["state"]) == (org, str(ended.job_id), "succeeded")


def test_a_constraint_that_a_hook_leaves_broken_fails_the_hook_and_no_settlement(
    store: Database, database: Connection, org: UUID
) -> None:
    database.execute("create table parents (id uuid primary key)")
    reference = "uuid references parents (id) deferrable initially deferred"
    database.execute(f"create table nodes (org_id uuid, parent {reference})".encode())
    database.execute("call postroom.fence_table('nodes')")
    database.execute("grant select, insert on nodes to postroom_tenant; grant select on parents to postroom_tenant")
    make_hook(database, "orphan", "insert into nodes (org_id, parent) values (postroom.current_org(), uuidv7());")
    make_job_type(store, "probe.orphan", on_end="orphan")
    end(store, held(store, org, "probe.orphan"), held(store, org, "probe.noted"))
    failed = database.execute("select data ->> 'sqlstate' from audit_log where event = 'job.hook_failed'").fetchall()
    assert (failed, len(hook_calls(database)), len(follow_ups(database))) == ([("23503",)], 1, 1)


def test_a_hook_that_asks_for_another_claim_is_retried_as_any_that_fails(
    store: Database, database: Connection, org: UUID
) -> None:
    make_hook(database, "selfish", "perform postroom.settle_held(uuidv7(), uuidv7(), '{}', 0, null);")
    make_job_type(store, "probe.selfish", on_end="selfish")
    end(store, held(store, org, "probe.selfish"))
    follow_up = claim_one(store, follow_ups(database)[0])
    with pytest.raises(Transient, match="hook"):
        repeat(store, follow_up)


def test_a_failing_hook_undoes_no_settlement_where_its_follow_up_is_not_known(
    store: Database, database: Connection, org: UUID
) -> None:
    database.execute("delete from job_types where name = %s", (FOLLOW_UP,))
    make_hook(database, "bad", "perform 1 / 0;")
    make_job_type(store, "probe.bad", on_end="bad")
    job = held(store, org, "probe.bad")
    end(store, job)
    assert database.execute("select job_id from owed_end_hooks").fetchall() == [(job.job_id,)]


def test_an_older_worker_removes_no_hook_by_publishing_its_catalogue(
    store: Database, database: Connection, org: UUID
) -> None:
    make_job_type(store, "probe.noted")
    end(store, held(store, org, "probe.noted"))
    assert len(hook_calls(database)) == 1
