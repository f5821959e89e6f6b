"""With every guard, job and account of one org locked by a foreign transaction, the jobs of another org go on."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.job import SYSTEM_ORG, ClaimedJob, Origin, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.scheduling.cron import Missed, Timetable
from domain.payloads.maintenance import FallbackSyncPayload
from engine.enqueue import enqueue
from engine.relay.relay import Relay
from engine.runtime import Runtime
from engine.worker.execution import Report
from storage.jobs import recovery
from storage.jobs.schedules import schedules
from storage.jobs.schedules.schedules import RequestedJob
from storage.postgres.execution import DatabaseUnavailable
from tasks.jobs.maintenance import fallback_sync
from tests.doubles.factories import claim_one, make_worker
from tests.doubles.inline_worker import InlineWorker, run_job
from tests.doubles.mail_factories import make_account
from tests.doubles.probe_jobs import Ending, Parent, Serial, ending, serial
from tests.engine.worker.test_loop import turn_until_idle
from tests.waiting import eventually

WITHIN_S = 2.0
NIGHTLY = Timetable("0 3 * * *", "UTC", Missed.RUN_ONCE)


class Tenant:
    """An org with a mailbox, a schedule that is due, and jobs that wait, are lost and are behind a key."""

    def __init__(self, process: Runtime, name: str) -> None:
        account = make_account(process.database, org=name, email=f"me@{name}.example.com")
        self.org_id = account.org_id
        with process.database.ledger() as tx:
            schedules.add(tx, self.org_id, "nightly", RequestedJob("probe_jobs.ending", {}, 1), NIGHTLY, by=Origin())
            made = enqueue(tx, *(Serial(account_id=word) for word in ("queued", "lost", "expired")), org_id=self.org_id)
            self.queued, self.lost, self.expired = (one.job_id for one in made)
        claim_one(process.database, self.lost, make_worker(process.database))


@pytest.fixture
def tenants(process: Runtime, database: Connection) -> tuple[Tenant, Tenant]:
    both = Tenant(process, "locked"), Tenant(process, "free")
    database.execute("update schedules set next_run_at = now() - interval '1 hour'")
    database.execute("update workers set lease_until = now() - interval '1 second'")
    database.execute("update jobs set next_check_at = now() - interval '1 second' where state <> 'queued'")
    expire = (
        "update jobs set expires_at = now() - interval '1 second', parked_by = 'key:x', next_check_at = null,"
        " published_at = null, backlog_since = null where id = any (%s)"
    )
    database.execute(expire, ([one.expired for one in both],))
    return both


@contextmanager
def locked(database_url: str, tenant: Tenant) -> Iterator[None]:
    """A foreign transaction holds all rows of an org, and guards that nobody else can see yet."""
    with connect(database_url) as foreign:
        for table in ("idempotency_keys", "jobs", "accounts"):
            foreign.execute(f"select from {table} where org_id = %s for update".encode(), (tenant.org_id,))
        for account_id in foreign.execute(
            "select id::text from accounts where org_id = %s", (tenant.org_id,)
        ).fetchall():
            sync = "select postroom.enqueue_job('gmail.sync', %s, jsonb_build_object('account_id', %s::text))"
            foreign.execute(sync, (tenant.org_id, account_id[0]))
        yield


def state(database: Connection, job_id: UUID) -> str:
    row = database.execute("select state from jobs where id = %s", (job_id,)).fetchone()
    assert row is not None
    return str(row[0])


def fan_out(process: Runtime) -> UUID:
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, FallbackSyncPayload(), org_id=SYSTEM_ORG)
    return made.job_id


def test_the_jobs_of_another_org_go_on_and_the_locked_ones_follow(
    process: Runtime, database: Connection, database_url: str, tenants: tuple[Tenant, Tenant]
) -> None:
    busy, free = tenants
    relay = Relay(process)
    with locked(database_url, busy):
        began = time.monotonic()
        with process.database.ledger() as tx:
            (made,) = enqueue(tx, Ending(word="new"), org_id=free.org_id)
        relay.turn()
        assert state(database, free.lost) == "queued", "rescued"
        assert state(database, free.expired) == "canceled"
        fired = "select count(*) from jobs where org_id = %s and actor_id = 'schedule:nightly'"
        assert database.execute(fired, (free.org_id,)).fetchone() == (1,)
        assert run_job(process, ending, made.job_id) == "succeeded"
        assert run_job(process, serial, free.queued) == "succeeded"
        assert time.monotonic() - began < WITHIN_S
        assert run_job(process, serial, busy.queued) == "not_claimed"
        assert {state(database, job_id) for job_id in (busy.queued, busy.expired)} == {"queued"}
        assert state(database, busy.lost) == "running"
    database.execute("update jobs set next_check_at = now() where next_check_at is not null")
    relay.turn()
    assert state(database, busy.lost) == "queued"
    assert state(database, busy.expired) == "canceled"
    assert run_job(process, serial, busy.queued) == "succeeded"


def test_a_fan_out_reaches_the_other_orgs_at_once_and_the_locked_one_when_it_is_free(
    process: Runtime, database: Connection, database_url: str, tenants: tuple[Tenant, Tenant]
) -> None:
    busy, free = tenants
    job_id = fan_out(process)
    synced = "select count(*) from jobs where job_type = 'gmail.sync' and org_id = %s"

    def reached(tenant: Tenant) -> bool:
        return database.execute(synced, (tenant.org_id,)).fetchone() == (1,)

    with ThreadPoolExecutor(1) as beside:
        with locked(database_url, busy):
            began = time.monotonic()
            running = beside.submit(run_job, process, fallback_sync, job_id)
            eventually(lambda: reached(free), within=WITHIN_S, describe="the free org's sync")
            assert time.monotonic() - began < WITHIN_S
            assert not running.done()
        assert running.result(timeout=30) == "succeeded"
    assert reached(busy)


@pytest.mark.parametrize("held", ["guard", "row"])
def test_a_settlement_that_is_locked_keeps_no_other_from_its_end(
    process: Runtime, database: Connection, database_url: str, tenants: tuple[Tenant, Tenant], held: str
) -> None:
    busy, free = tenants
    worker = InlineWorker(process)
    jobs = [claim_one(process.database, one.queued, process.worker) for one in (busy, free)]
    with connect(database_url) as foreign:
        table, column = ("idempotency_keys", "job_id") if held == "guard" else ("jobs", "id")
        foreign.execute(f"select from {table} where {column} = %s for update".encode(), (busy.queued,))
        began = time.monotonic()
        settle_all(worker, jobs)
        assert time.monotonic() - began < WITHIN_S
        assert state(database, free.queued) == "succeeded"
        assert state(database, busy.queued) == "running"
    turn_until_idle(worker.ledger_loop)
    assert state(database, busy.queued) == "succeeded"


@pytest.mark.parametrize("seen", [True, False], ids=["a guard that is locked", "a guard that nobody sees yet"])
def test_a_childs_key_that_is_locked_keeps_no_other_parent_from_its_end(
    process: Runtime, database: Connection, database_url: str, tenants: tuple[Tenant, Tenant], seen: bool
) -> None:
    busy, free = tenants
    worker = InlineWorker(process)
    word = "queued" if seen else "new"
    asked = [parent_of(process, org, word) for org in (busy.org_id, busy.org_id, free.org_id)]
    with connect(database_url) as foreign:
        if seen:
            foreign.execute("select from idempotency_keys where job_id = %s for update", (busy.queued,))
        else:
            foreign.execute(
                "select postroom.enqueue_job('probe_jobs.serial', %s, jsonb_build_object('account_id', %s::text))",
                (busy.org_id, word),
            )
        began = time.monotonic()
        jobs = [claim_one(process.database, job_id, process.worker) for job_id in asked]
        worker.ledger_loop._hold(jobs)  # noqa: SLF001  # as a claim does
        for _ in range(3):
            worker.ledger_loop.turn()
        assert time.monotonic() - began < WITHIN_S
        assert [state(database, job_id) for job_id in asked] == ["running", "running", "succeeded"]
        assert not worker.ledger_loop.database_away
    turn_until_idle(worker.ledger_loop)
    assert [state(database, job_id) for job_id in asked] == ["succeeded"] * 3
    born = database.execute("select org_id from jobs where parent_id is not null").fetchall()
    assert born == ([] if seen else [(free.org_id,)]), "all other keys have been taken"


def test_the_lost_job_of_another_org_dies_while_a_handler_enqueues_the_quarantine_of_its_own(
    process: Runtime, database: Connection, tenants: tuple[Tenant, Tenant]
) -> None:
    busy, free = tenants
    database.execute("update jobs set losses = 100, suspect = true where id = any (%s)", ([busy.lost, free.lost],))
    with process.database.tenant(busy.org_id) as tx:
        tx.raw(
            "select postroom.enqueue('deadletter.quarantine', %(org)s, jsonb_build_object('job_id', %(job)s::uuid))",
            {"org": busy.org_id, "job": busy.lost},
        )
        Relay(process).turn()
        assert {state(database, one.lost) for one in tenants} == {"dead"}


def test_what_one_org_has_locked_spends_no_time_of_another(
    process: Runtime, database: Connection, tenants: tuple[Tenant, Tenant]
) -> None:
    """The settlements of one org wait, each by itself, for as long as the pinned connection waits for a lock."""
    busy, free = tenants
    worker = InlineWorker(process)
    with process.database.ledger() as tx:
        asked = [
            (org, one.job_id)
            for org, number in ((busy.org_id, 12), (free.org_id, 20))
            for one in enqueue(tx, *(Ending(word=str(n)) for n in range(number)), org_id=org)
        ]
    jobs = [claim_one(process.database, job_id, process.worker) for _, job_id in asked]
    database.execute(
        "create function wait_and_refuse() returns trigger language plpgsql as $$"
        " begin perform pg_sleep(0.1); raise exception 'locked' using errcode = '55P03'; end $$"
    )
    database.execute(
        "create trigger wait_and_refuse before update on jobs for each row"
        f" when (new.state = 'succeeded' and new.org_id = '{busy.org_id}') execute function wait_and_refuse()".encode()
    )
    settle_all(worker, jobs)
    ends = {state(database, job_id) for org, job_id in asked if org == free.org_id}
    assert ends == {"succeeded"}


def parent_of(process: Runtime, org_id: UUID, word: str) -> UUID:
    """A job whose child has the key of this word."""
    with process.database.ledger() as tx:
        (made,) = enqueue(tx, Parent(word=word), org_id=org_id)
    return made.job_id


def settle_all(worker: InlineWorker, jobs: list[ClaimedJob]) -> None:
    """Report success of jobs that are held, and let the loop write it."""
    for job in jobs:
        worker.ledger_loop._hold([job])  # noqa: SLF001  # as a claim does
    worker.ledger_loop.deliver(
        [Report(job.job_id, job.token, "succeeded", Settlement(job.job_id, job.token, State.SUCCEEDED)) for job in jobs]
    )
    worker.ledger_loop.turn()


def test_a_handlers_session_that_is_older_than_any_deadline_is_ended(
    process: Runtime, database: Connection, tenants: tuple[Tenant, Tenant]
) -> None:
    """Its SQL may have lifted each of its time limits."""
    database.execute("update job_types set deadline = '1 millisecond'")
    with pytest.raises(DatabaseUnavailable), process.database.tenant(tenants[0].org_id) as tx:
        tx.raw("set local statement_timeout = 0")
        with process.database.ledger() as own:
            assert recovery.end_old_sessions(own) == 0, "a minute is left for the way back"
            assert recovery.end_old_sessions(own, margin=timedelta(0)) == 1
        tx.raw("select 1")
