"""Children that are born claimed: they run in their parent's worker without a hint, and none gets lost (P1, P5, P7)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import ClaimedJob, Hint, Origin
from domain.jobs.scheduling.backlog_demand import Demand
from engine.broker.births import ANSWER_S, Births
from engine.catalogue import Job
from engine.runtime import Runtime
from engine.worker.lease import renew
from engine.worker.worker import return_claims
from storage.jobs import recovery
from storage.jobs.answers import Slots
from storage.postgres.database import Database, TenantTransaction
from storage.postgres.execution import DatabaseUnavailable
from tests.doubles import probe_jobs
from tests.doubles.factories import enqueue_one, pass_time
from tests.doubles.inline_worker import InlineWorker
from tests.doubles.probes import bearing_jobs
from tests.invariants import check_ledger, find_gaps
from tests.workflows.workflow_runs import Workflows

LEASE = timedelta(seconds=60)
WAYS = pytest.mark.parametrize(
    "parent", [probe_jobs.parent, probe_jobs.writing, bearing_jobs.early], ids=lambda one: one.name
)
"""The children come with the settlement of the loop, with that of the handler's transaction, and before."""


class Clock:
    """Goes on when it is moved, and by a step with each look."""

    def __init__(self) -> None:
        self.now, self.step = 100.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Broker:
    """Takes hints and brings none."""

    def __init__(self) -> None:
        self.hints: list[Hint] = []

    def publish(self, hints: Sequence[Hint], **_options: int) -> bool:
        self.hints += hints
        return True

    def publish_demand(self, _queue: str, _parts: Sequence[Demand]) -> bool:
        return True

    def close(self) -> None:
        """Has nothing open."""


@pytest.fixture
def clock(process: Runtime) -> Clock:
    made = Clock()
    process.births = Births(process.worker.worker_id, process.lease.length, made)
    return made


@pytest.fixture
def broker(process: Runtime) -> Broker:
    made = Broker()
    process.publisher = made  # type: ignore[assignment] # as much of it as a settlement uses
    return made


def begin(
    process: Runtime, clock: Clock, *, slots: int = 4, deadly: tuple[type[BaseException], ...] = ()
) -> InlineWorker:
    """A worker that has had free slots, and nothing to do, for as long as a broker takes to answer."""
    worker = InlineWorker(process, deadly, serves=["default"], slots=slots)
    worker.hub.run()
    clock.now += 2 * ANSWER_S
    return worker


def run(worker: InlineWorker, process: Runtime, org: UUID, job_type: Job[Any], **payload: object) -> str:
    job_id = enqueue_one(process.database, org, job_type.name, payload=payload)
    return worker.run(Hint(job_id, job_type.name, job_type.queue.value))


def ends(database: Connection) -> list[tuple[str, ...]]:
    """The jobs in the order of their ids; a child has no name."""
    query = "select case when parent_id is null then job_type else 'child' end, state from jobs order by id"
    return database.execute(query).fetchall()


@WAYS
def test_a_child_runs_in_the_worker_of_its_parent_without_a_hint(
    process: Runtime, database: Connection, org: UUID, clock: Clock, broker: Broker, parent: Job[Any]
) -> None:
    run(begin(process, clock), process, org, parent)
    assert ends(database) == [(parent.name, "succeeded"), ("child", "succeeded")]
    assert broker.hints == []
    child = "select id from jobs where parent_id is not null"
    events = f"select array_agg(event order by id) from audit_log where job_id = ({child})"
    assert database.execute(events).fetchone() == (["job.enqueued", "job.started", "job.succeeded"],)
    check_ledger(database)


@WAYS
def test_a_child_goes_by_a_hint_where_the_broker_had_no_time_to_bring_others(
    process: Runtime, database: Connection, org: UUID, clock: Clock, broker: Broker, parent: Job[Any]
) -> None:
    worker = begin(process, clock)
    clock.now -= 1.5 * ANSWER_S
    run(worker, process, org, parent)
    assert ends(database) == [(parent.name, "succeeded"), ("child", "queued")]
    assert len(broker.hints) == 1


def test_a_childs_slot_is_beside_that_of_the_handler_that_has_not_ended(
    process: Runtime, database: Connection, org: UUID, clock: Clock, broker: Broker
) -> None:
    run(begin(process, clock, slots=1), process, org, probe_jobs.writing)
    assert ends(database) == [("probe_jobs.writing", "succeeded"), ("child", "queued")]
    assert len(broker.hints) == 1


@pytest.mark.parametrize("parent", [probe_jobs.writing, bearing_jobs.early])
def test_nothing_runs_of_what_was_rolled_back(
    process: Runtime, database: Connection, org: UUID, clock: Clock, broker: Broker, parent: Job[Any]
) -> None:
    run(begin(process, clock), process, org, parent, word="bug")
    assert ends(database) == [(parent.name, "queued")]
    assert broker.hints == []
    assert process.births.taken == 0


class Killed(BaseException):
    """The process has ended."""


class Deadly(Births):
    """Ends the process when the loop is to take the jobs."""

    def born(self) -> Sequence[ClaimedJob]:
        if self.is_busy:
            raise Killed
        return ()


@pytest.mark.usefixtures("broker")
@WAYS
def test_a_worker_that_dies_between_commit_and_start_loses_nothing(
    process: Runtime, database: Connection, org: UUID, clock: Clock, parent: Job[Any]
) -> None:
    process.births = Deadly(process.worker.worker_id, process.lease.length, clock)
    with pytest.raises(Killed):
        run(begin(process, clock, deadly=(Killed,)), process, org, parent)
    born = "select state, attempt from jobs where parent_id is not null"
    assert database.execute(born).fetchall() == [("claimed", 0)]
    pass_time(database, LEASE * 3)
    with process.database.ledger() as tx:
        recovery.rescue(tx, batch=100)
    assert database.execute(f"{born} and suspect and losses = 0").fetchall() == [("queued", 0)]
    assert find_gaps(database) == []


class Unanswering(Database):
    """Commits a handler's transactions, and loses the answers."""

    @contextmanager
    def claimed(self, *claim: object, **options: object) -> Iterator[TenantTransaction]:
        with super().claimed(*claim, **options) as tx:  # type: ignore[arg-type] # as it came
            yield tx
        raise DatabaseUnavailable("the answer was lost")


@pytest.mark.usefixtures("broker")
def test_a_claim_whose_commit_was_not_answered_is_given_back(
    process: Runtime, database: Connection, org: UUID, clock: Clock
) -> None:
    first, process.database = process.database, Unanswering(process.settings)
    worker = begin(process, clock)
    assert run(worker, process, org, probe_jobs.writing) == "claim_lost"  # for it was settled
    worker.hub.run()
    assert ends(database) == [("probe_jobs.writing", "succeeded"), ("child", "queued")]
    causes = "select data ->> 'cause' from audit_log where event = 'job.retried'"
    assert database.execute(causes).fetchall() == [("unanswered",)]
    assert process.births.taken == 0
    first.dispose()


class Stopping(Births):
    """Is asked to stop while a claim is under way."""

    process: Runtime

    def born(self) -> Sequence[ClaimedJob]:
        if self.is_busy:
            self.process.stopping.set()
        return super().born()


@pytest.mark.usefixtures("broker")
def test_a_worker_that_stops_gives_back_what_was_born_and_has_not_begun(
    process: Runtime, database: Connection, org: UUID, clock: Clock
) -> None:
    process.births = births = Stopping(process.worker.worker_id, process.lease.length, clock)
    births.process = process
    worker = begin(process, clock)
    run(worker, process, org, probe_jobs.writing)
    assert ends(database) == [("probe_jobs.writing", "succeeded"), ("child", "queued")]
    cause = "select attempt, data ->> 'cause' from audit_log where event = 'job.retried'"
    assert database.execute(cause).fetchall() == [(0, "shutdown")]
    assert worker.ledger_loop.idle
    assert return_claims() == 0


def test_a_workflows_chain_needs_no_hint(
    process: Runtime, database: Connection, org: UUID, clock: Clock, broker: Broker
) -> None:
    flows = Workflows(process, database, org)
    nodes = {
        f"n{number}": {"job": "probe_jobs.noop", "needs": [f"n{number - 1}"] if number else []} for number in range(3)
    }
    flows.save({"name": "chain", "nodes": nodes})
    run_id = flows.start("chain")
    (first,) = broker.hints
    broker.hints.clear()
    renew(process)
    clock.step = 2 * ANSWER_S
    begin(process, clock).run(first)
    assert database.execute("select state from workflow_runs where id = %s", (run_id,)).fetchone() == ("succeeded",)
    assert broker.hints == []
    check_ledger(database)


def make_births(clock: Clock, slots: int) -> Births:
    made = Births(uuid4(), LEASE, clock)
    made.attach(["default"], lambda: None)
    made.offer(slots)
    clock.now += 2 * ANSWER_S
    return made


def test_slots_are_taken_once() -> None:
    births = make_births(Clock(), 3)
    assert [births.take(2).most, births.take(2).most, births.take(2).most] == [2, 1, 0]


def test_when_all_were_taken_the_broker_is_asked_again_before_the_next() -> None:
    clock = Clock()
    births = make_births(clock, 1)
    with births.claiming() as birth:
        birth.jobs = [a_job(birth.take(1))]
    births.offer(2)  # one of them is still taken
    assert births.take(1).most == 0
    clock.now += 2 * ANSWER_S
    births.offer(2)
    assert births.take(1).most == 1


def a_job(slots: Slots) -> ClaimedJob:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return ClaimedJob(slots.token, Origin(), uuid4(), "probe", "default", uuid4(), None, {}, 1, 1, 5, 0, LEASE, at)


def test_slots_that_nothing_was_born_for_are_free_again() -> None:
    births = make_births(Clock(), 1)
    with births.claiming() as birth:
        birth.take(1)
    assert births.take(1).most == 1


def test_a_message_that_came_has_its_slot() -> None:
    births = make_births(Clock(), 2)
    births.fill(1)
    assert births.take(2).most == 1


def test_a_process_without_a_loop_has_no_slots() -> None:
    births = Births(uuid4(), LEASE, Clock())
    births.offer(4)
    assert births.take(1).most == 0
