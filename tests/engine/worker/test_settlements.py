"""The ledger loop's settlements while somebody has locked what they need, PostgreSQL refuses them or goes away."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.failures import Permanent
from domain.jobs.job import ClaimedJob, Done, NewJob, State
from domain.jobs.lifecycle import Settlement
from engine.catalogue import catalogue
from engine.context import JobContext
from engine.enqueue import LARGEST_FAMILY
from engine.runtime import Runtime
from engine.worker import runner
from engine.worker.execution import Attempt, Report, run_in_task
from engine.worker.loop import LedgerLoop
from settings import Settings
from storage.jobs import ledger, recovery
from storage.jobs.requests import as_requests
from storage.postgres.apart import MOST_REST_S
from storage.postgres.database import Database, Transaction
from storage.postgres.execution import DatabaseUnavailable
from tests.doubles.factories import make_job_type, make_org, pass_time
from tests.engine.worker.test_loop import SLOTS, Hub, fill, make_loop, turn_until_idle
from tests.engine.worker.test_lost_answers import run_process
from tests.engine.worker.test_refused_batches import refuse, states

NOOP = "probe_jobs.noop"
UNIQUE = "probe.unique"
SECRET = "Bearer ya29.a0AfH6SMBx1234567890abcdef"


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    with run_process(settings) as running:
        yield running


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, NOOP)
    make_job_type(process.database, UNIQUE, unique_mode="while_queued", unique_fields=("k",))
    return make_org(database)


class Dispatcher:
    """Celery's, with somebody who listens."""

    enabled, groups = True, frozenset[str]()

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, Any]] = {}

    def send(self, kind: str, *, uuid: str, **fields: object) -> None:
        self.sent[uuid] = {"kind": kind, **fields}


class Leaving(Database):
    """PostgreSQL, which goes away before its transaction of some number, by the kept connection."""

    def __init__(self, settings: Settings, away_at: int) -> None:
        super().__init__(settings)
        self._left = away_at

    @contextmanager
    def pinned_transaction(self) -> Iterator[Transaction]:
        self._left -= 1
        if self._left == 0:
            raise DatabaseUnavailable("gone")
        with super().pinned_transaction() as transaction:
            yield transaction


class Counted(Database):
    """PostgreSQL, and how often settlements were tried that wait for no row."""

    tries = 0

    @contextmanager
    def pinned_transaction(self) -> Iterator[Transaction]:
        self.tries += 1
        with super().pinned_transaction() as transaction:
            yield transaction


def held(process: Runtime, loop: LedgerLoop, org: UUID, count: int = 1) -> Sequence[ClaimedJob]:
    """Jobs that the worker has claimed and its pool has run."""
    with process.database.pinned() as tx:
        jobs = ledger.claim(tx, fill(process, org, count), process.worker.worker_id, lease=process.lease.length).jobs
    loop._hold(jobs)  # noqa: SLF001  # as a claim does
    loop._ready.clear()  # noqa: SLF001  # as the pool has run them
    return sorted(jobs, key=lambda job: job.job_id)


def end_of(job: ClaimedJob, *children: NewJob) -> Report:
    requests = as_requests([job.child(child) for child in children]) if children else None
    end = Settlement(job.job_id, job.token, State.SUCCEEDED, output={}, children=requests)
    return Report(job.job_id, job.token, "succeeded", end, 0.001)


@contextmanager
def key_taken(database_url: str, org: UUID) -> Iterator[None]:
    """Somebody enqueues the job with this key, and does not commit."""
    with connect(database_url) as foreign:
        foreign.execute(f"select postroom.enqueue_job('{UNIQUE}', %s, '{{\"k\": 1}}')".encode(), (org,))
        yield


def test_a_settlement_waits_for_others_only_while_a_job_runs(process: Runtime, org: UUID) -> None:
    class Timed(Hub):
        def call_later(self, *given: object) -> object:
            waits.append(given[0])
            return object()

    waits: list[object] = []
    loop, consumer = make_loop(process, lambda: 1000.0)
    consumer.hub = Timed()
    first, last = held(process, loop, org, 2)
    loop.turn()
    loop.deliver([end_of(first)])
    loop.turn()
    loop.deliver([end_of(last)])
    assert [wait == 0 for wait in waits] == [False, True]


def test_what_was_settled_is_released_though_the_database_goes_away_within_the_turn(
    process: Runtime, org: UUID, settings: Settings, database: Connection
) -> None:
    loop, _ = make_loop(process)
    jobs = held(process, loop, org, 4)
    refuse(database, f"new.id = '{jobs[3].job_id}' and new.state = 'succeeded'", sqlstate="55P03")
    loop.deliver([end_of(job) for job in jobs])
    first, process.database = process.database, Leaving(settings, away_at=3)
    loop.turn()
    assert loop.database_away
    assert states(database, [job.job_id for job in jobs]) == ["succeeded"] * 2 + ["claimed"] * 2
    assert sorted(job.job_id for job in loop.held()) == [job.job_id for job in jobs[2:]]
    process.database.dispose()
    process.database = first
    database.execute("drop trigger refuse on jobs")
    turn_until_idle(loop)
    assert (states(database, [job.job_id for job in jobs]), loop.health()["held"]) == (["succeeded"] * 4, 0)
    assert loop.health()["settlements_refused"] == 0, "none was written twice"


def test_a_childs_key_that_stays_locked_costs_other_orgs_no_time(
    process: Runtime, org: UUID, settings: Settings, database: Connection, database_url: str
) -> None:
    """Each try that meets the lock waits for it; a turn has one try, which settles what is free."""
    now = [0.0]  # what was put off rests, however long a turn takes
    loop, _ = make_loop(process, lambda: now[0])
    other = make_org(database, "other")
    with key_taken(database_url, org):
        (parent,) = held(process, loop, org)
        loop.deliver([end_of(parent, NewJob(UNIQUE, org, {"k": 1}, is_checked=True))])
        loop.turn()
        first, process.database = process.database, (counted := Counted(settings))
        for number in range(1, 4):
            (parent,), free = held(process, loop, org), held(process, loop, other, 2)
            loop.deliver([end_of(parent, NewJob(UNIQUE, org, {"k": 1}, is_checked=True)), *map(end_of, free)])
            loop.turn()
            assert counted.tries == number, "nobody waits for the lock again"
            assert states(database, [job.job_id for job in free]) == ["succeeded"] * 2
        assert loop.health()["held"] == 4
    counted.dispose()
    process.database = first
    now[0] = MOST_REST_S
    turn_until_idle(loop)


def test_a_locked_row_does_not_keep_the_loop_turning(process: Runtime, org: UUID, database_url: str) -> None:
    loop, _ = make_loop(process)
    (job,) = held(process, loop, org)
    with connect(database_url) as holder:
        holder.execute("select from jobs where id = %s for update", (job.job_id,))
        loop.deliver([end_of(job)])
        loop.turn()
        assert (loop._timer, loop.idle) == (None, False)  # noqa: SLF001  # no turn is set
    turn_until_idle(loop)


def test_what_rests_leaves_its_slots_to_others_up_to_a_bound(process: Runtime, org: UUID) -> None:
    loop, _ = make_loop(process)
    jobs = held(process, loop, org, 1030)
    waiting = loop._settlements  # noqa: SLF001  # a thousand locks would take long
    waiting.put_off([end_of(job) for job in jobs[:1024]])
    assert loop._capacity().jobs == 6  # noqa: SLF001  # what a turn claims by
    waiting.put_off([end_of(job) for job in jobs[1024:]])
    assert loop._capacity().jobs == 6  # noqa: SLF001  # as above


def test_a_worker_asks_for_more_while_what_it_has_run_rests(process: Runtime, org: UUID) -> None:
    loop, consumer = make_loop(process)
    jobs = held(process, loop, org, 200)
    loop._settlements.put_off([end_of(job) for job in jobs])  # noqa: SLF001  # as above
    loop._ask_for_more()  # noqa: SLF001  # a turn would write them, for nobody has locked them
    assert consumer.asked >= SLOTS, "all slots are free"


def test_an_attempt_whose_end_rests_is_counted_when_it_outlasts_its_deadline(
    process: Runtime, org: UUID, database: Connection, database_url: str
) -> None:
    loop, _ = make_loop(process)
    (parent,) = held(process, loop, org)
    end = end_of(parent, NewJob(UNIQUE, org, {"k": 1}, is_checked=True))
    assert end.settlement is not None
    with key_taken(database_url, org):
        loop.deliver([end._replace(settlement=end.settlement.begun(process.clock()))])
        loop.turn()
        for _ in range(2):
            loop.check()
        running = "select state, attempt, started_at is not null from jobs where id = %s"
        assert database.execute(running, (parent.job_id,)).fetchone() == ("running", 1, True)
        with process.database.ledger() as tx:
            pass_time(database, timedelta(hours=2))
            database.execute("update workers set lease_until = now() + interval '1 minute'")  # the worker is well
            assert recovery.rescue(tx, batch=10).job_ids == {parent.job_id}
        spent = "select attempt, losses from jobs where id = %s"
        assert database.execute(spent, (parent.job_id,)).fetchone() == (1, 1), "it cannot go on without end"
    turn_until_idle(loop)
    starts = "select count(*) from audit_log where job_id = %s and event = 'job.started'"
    assert database.execute(starts, (parent.job_id,)).fetchone() == (1,)


def test_what_postgresql_refuses_costs_no_connection(process: Runtime, org: UUID, database: Connection) -> None:
    loop, _ = make_loop(process)
    other = make_org(database, "other")
    bad, good = held(process, loop, org, 20), held(process, loop, other, 2)
    with process.database.pinned() as tx:
        before = tx.raw("select pg_backend_pid() as pid")[0].pid
    loop.deliver([*(end_of(job, NewJob("no.such_type", org, {})) for job in bad), *map(end_of, good)])
    turn_until_idle(loop)
    assert states(database, [job.job_id for job in bad]) == ["dead"] * 20
    assert states(database, [job.job_id for job in good]) == ["succeeded"] * 2
    with process.database.pinned() as tx:
        assert tx.raw("select pg_backend_pid() as pid")[0].pid == before


def test_a_row_that_can_never_be_written_keeps_no_other_from_its_end(
    process: Runtime, org: UUID, database: Connection
) -> None:
    loop, _ = make_loop(process)
    other = make_org(database, "other")
    (bad,), good = held(process, loop, org), held(process, loop, other, 3)
    refuse(database, f"new.id = '{bad.job_id}' and new.state <> 'claimed'")
    loop.deliver([end_of(job) for job in (bad, *good)])
    loop.turn()
    assert states(database, [bad.job_id, *(job.job_id for job in good)]) == ["claimed", *["succeeded"] * 3]
    later = held(process, loop, org, 2)
    loop.deliver([end_of(job) for job in later])
    loop.turn()
    assert states(database, [job.job_id for job in later]) == ["succeeded"] * 2
    database.execute("drop trigger refuse on jobs")
    turn_until_idle(loop)
    assert states(database, [bad.job_id]) == ["succeeded"], "what came of it is kept"


def test_events_tell_what_was_written_without_secrets_and_nothing_that_was_refused(
    process: Runtime, org: UUID, database: Connection
) -> None:
    loop, consumer = make_loop(process)
    consumer.event_dispatcher = dispatcher = Dispatcher()
    replaced, lost, failed = held(process, loop, org, 3)
    known = catalogue.find(NOOP)
    assert known is not None
    failure = runner.fail_attempt(process, JobContext(process, failed), known, Permanent(f"answered: {SECRET}"))
    database.execute("update jobs set claim_token = gen_random_uuid() where id = %s", (lost.job_id,))
    loop.deliver(
        [
            end_of(replaced, NewJob("no.such_type", org, {})),
            end_of(lost),
            Report(failed.job_id, failed.token, failure.status, failure.settlement, 0.1),
        ]
    )
    loop.turn()
    said = {job_id: fields["kind"] for job_id, fields in dispatcher.sent.items() if fields["kind"] != "task-received"}
    assert said == {str(replaced.job_id): "task-failed", str(failed.job_id): "task-failed"}
    assert SECRET not in json.dumps(dispatcher.sent)
    assert "answered" in dispatcher.sent[str(failed.job_id)]["exception"]
    assert loop.idle


def test_large_families_are_settled_in_turns_of_their_own_size_and_what_is_small_passes_them_by(
    process: Runtime, org: UUID, database: Connection
) -> None:
    loop, _ = make_loop(process)
    jobs, small = held(process, loop, org, 3), held(process, loop, org, 3)
    child = NewJob(NOOP, org, {"filling": "x" * 2000}, is_checked=True)
    loop.deliver([end_of(job, *[child] * (LARGEST_FAMILY // 4000)) for job in jobs])
    loop.deliver([end_of(job) for job in small])
    loop.turn()
    assert states(database, [job.job_id for job in small]) == ["succeeded"] * 3
    assert states(database, [job.job_id for job in jobs]).count("succeeded") == 2
    loop.turn()
    assert loop.idle


def test_a_parent_of_more_children_than_others_can_wait_for_writes_them_itself(
    process: Runtime, org: UUID, database: Connection
) -> None:
    loop, _ = make_loop(process)
    few, many = held(process, loop, org, 2)
    known = catalogue.find(NOOP)
    assert known is not None
    for job, count in ((few, 2), (many, 1500)):
        done = Done(children=tuple(NewJob(NOOP, org, {}, is_checked=True) for _ in range(count)))
        attempt = Attempt(job, process.clock())
        assert run_in_task(attempt, replace(known, handler=lambda *_, done=done: done)) == "succeeded"
        assert attempt.result is not None
        assert (attempt.result.settlement is None) == (job is many)
    assert database.execute("select count(*) from jobs where parent_id = %s", (many.job_id,)).fetchone() == (1500,)
