"""A hook that raises, waits, deadlocks, sleeps or loops holds up nobody: every settlement of its statement stands."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.job import ClaimedJob, Done
from domain.jobs.lifecycle import settlement_of
from domain.jobs.retry import STANDARD
from settings import Settings
from storage.jobs import end_hooks, ledger
from storage.postgres.database import Database
from tests.doubles.end_hooks import NOTING, hook_calls, make_hook, repair_hook
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org
from tests.storage.jobs.test_end_hooks import NOW
from tests.waiting import until_a_lock_is_waited_for

BOUND_S = 2.0
"""The callers' statement_timeout here."""

HOOKS = {
    "raises": "perform 1 / 0;",
    "waits": "insert into hook_calls (org_id, hook, facts) select postroom.current_org(), 'x', '1' from"
    " (select pg_advisory_xact_lock(7)) as waited;",
    "sleeps": "perform pg_sleep(60);",
    "loops": "loop end loop;",
    "swallows": "begin loop end loop; exception when others then null; end;",
    "stops": "assert false;",
}
FAILURES = {
    "raises": ("raised", "22012"),
    "waits": ("waited", "55P03"),
    "sleeps": ("timed_out", "57014"),
    "loops": ("timed_out", "57014"),
    "swallows": ("timed_out", "57014"),
    "stops": ("raised", "P0004"),
}


@pytest.fixture
def bounded(settings: Settings) -> Iterator[Database]:
    """The ledger as a worker sees it, with a short bound of a statement's time."""
    store = Database(settings.model_copy(update={"statement_timeout_s": BOUND_S}))
    yield store
    store.dispose()


@pytest.fixture
def org(bounded: Database, database: Connection) -> UUID:
    make_job_type(bounded, "maintenance.run_end_hook", queue="maintenance")
    make_hook(database, "tell", NOTING)
    make_job_type(bounded, "probe.tells", on_end="tell")
    make_job_type(bounded, "probe.plain")
    for name, body in HOOKS.items():
        make_hook(database, name, body)
        make_job_type(bounded, f"probe.{name}", on_end=name)
    return make_org(database)


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    """A session that holds what the waiting hook wants."""
    with connect(database_url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(7)")
        yield connection


def held(store: Database, org: UUID, *names: str) -> list[ClaimedJob]:
    return [claim_one(store, enqueue_one(store, org, f"probe.{name}")) for name in names]


def end(store: Database, jobs: Sequence[ClaimedJob]) -> float:
    """Settle jobs in one statement, as a worker's loop does; returns the seconds that it took."""
    began = time.monotonic()
    with store.statements() as tx:
        assert not ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in jobs]).refused
    return time.monotonic() - began


def states(database: Connection, jobs: Sequence[ClaimedJob]) -> list[str]:
    rows: dict[UUID, str] = dict(database.execute("select id, state from jobs").fetchall())
    return [rows[job.job_id] for job in jobs]


def follow_ups(database: Connection) -> dict[UUID, str]:
    """The cause of each follow-up job, by the job that it is for."""
    rows: list[tuple[UUID, str]] = database.execute(
        "select (payload ->> 'job_id')::uuid, payload ->> 'cause' from jobs"
        " where job_type = 'maintenance.run_end_hook' and state = 'queued' and backlog_since is not null"
    ).fetchall()
    return dict(rows)


def failed(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute(
        "select job_id, data ->> 'hook', data ->> 'cause', data ->> 'sqlstate' from audit_log"
        " where event = 'job.hook_failed' order by id"
    ).fetchall()


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.usefixtures("other")
def test_a_hook_that_fails_holds_up_nobody(bounded: Database, database: Connection, org: UUID, name: str) -> None:
    jobs = held(bounded, org, "tells", name, "plain", "plain")
    assert end(bounded, jobs) < BOUND_S + 5
    assert states(database, jobs) == ["succeeded"] * 4
    cause, sqlstate = FAILURES[name]
    assert failed(database) == [(jobs[1].job_id, name, cause, sqlstate)]
    assert follow_ups(database) == {jobs[1].job_id: cause}
    assert [facts["job_id"] for _, facts in hook_calls(database)] == [str(jobs[0].job_id)]


def test_a_deadlock_with_a_hook_is_broken_on_its_side(
    bounded: Database, database: Connection, database_url: str, org: UUID
) -> None:
    (job,) = held(bounded, org, "waits")
    with connect(database_url) as rival, bounded.ledger() as tx:
        rival.execute("select pg_advisory_xact_lock(7)")
        tx.raw("select from jobs where id = %(id)s for update", {"id": job.job_id})
        update = b"update jobs set progress = '{}' where id = '" + str(job.job_id).encode() + b"'"
        waiting = threading.Thread(target=rival.execute, args=(update,))
        waiting.start()
        until_a_lock_is_waited_for(database, describe="the rival waits for the job")
        assert not ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0)]).refused
        tx.after_commit(waiting.join)
    assert not waiting.is_alive()
    assert states(database, [job]) == ["succeeded"]
    assert [row[2] for row in failed(database)] == ["waited"]


def test_a_hook_that_ran_out_of_time_is_deferred_for_a_while(
    bounded: Database, database: Connection, org: UUID
) -> None:
    first, second, third = (held(bounded, org, "sleeps", "tells") for _ in range(3))
    end(bounded, first)
    # No timer is armed for the rest of that statement: its other hooks are deferred too.
    assert follow_ups(database) == {first[0].job_id: "timed_out", first[1].job_id: "deferred"}
    assert end(bounded, second) < BOUND_S / 2
    assert follow_ups(database)[second[0].job_id] == "deferred"
    assert [facts["job_id"] for _, facts in hook_calls(database)] == [str(second[1].job_id)]
    database.execute("update hook_pauses set until = now()")
    end(bounded, third)
    assert follow_ups(database)[third[0].job_id] == "timed_out"
    assert len(failed(database)) == 2, "a deferred hook has not failed"


def test_hooks_that_are_slow_together_are_deferred_after_a_second(
    bounded: Database, database: Connection, org: UUID
) -> None:
    make_hook(database, "slow", "perform pg_sleep(0.3);")
    make_job_type(bounded, "probe.slow", on_end="slow")
    jobs = held(bounded, org, *["slow"] * 20)
    assert end(bounded, jobs) < BOUND_S
    assert states(database, jobs) == ["succeeded"] * 20
    causes = list(follow_ups(database).values())
    assert set(causes) == {"deferred"}
    assert 14 <= len(causes) <= 19


@pytest.mark.parametrize("bound", ["0", "61s"])
def test_a_caller_without_a_bound_runs_no_hook(bounded: Database, database: Connection, org: UUID, bound: str) -> None:
    (job,) = held(bounded, org, "tells")
    with bounded.ledger() as tx:
        tx.raw(f"set local statement_timeout = '{bound}'")
        ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0)])
    assert follow_ups(database) == {job.job_id: "deferred"}
    assert hook_calls(database) == []


def test_a_lock_timeout_of_the_callers_own_stays(bounded: Database, org: UUID) -> None:
    jobs = held(bounded, org, "tells", "raises")
    with bounded.ledger() as tx:
        tx.raw("set local lock_timeout = '7s'")
        ledger.settle(tx, [settlement_of(job, Done(), STANDARD, NOW, 0.0) for job in jobs])
        assert tx.raw("show lock_timeout")[0].lock_timeout == "7s"


def test_a_follow_up_job_calls_the_hook_once_with_the_same_facts(
    bounded: Database, database: Connection, org: UUID
) -> None:
    make_hook(database, "mended", "perform 1 / 0;")
    make_job_type(bounded, "probe.mended", on_end="mended")
    (job,) = held(bounded, org, "mended")
    end(bounded, [job])
    repair_hook(database, "mended")
    row = database.execute("select id from jobs where job_type = 'maintenance.run_end_hook'").fetchone()
    assert row is not None
    follow_up = claim_one(bounded, row[0])
    with bounded.claimed(org, follow_up.job_id, follow_up.token) as tx:
        assert end_hooks.repeat(tx, follow_up)
        ledger.settle_held(tx, follow_up, {}, 0, began_at=NOW)
    ((called_org, facts),) = hook_calls(database)
    assert (called_org, facts["job_id"], facts["state"]) == (org, str(job.job_id), "succeeded")


def test_only_the_holder_of_a_follow_up_job_can_repeat_a_hook(
    bounded: Database, database: Connection, org: UUID
) -> None:
    done, plain = held(bounded, org, "tells", "plain")
    end(bounded, [done])
    with bounded.claimed(org, plain.job_id, plain.token) as tx:
        assert not end_hooks.repeat(tx, plain)
    assert len(hook_calls(database)) == 1
