"""The ledger loop by itself: what it makes of messages, and of a claim whose answer was lost."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection
from psycopg.errors import UndefinedColumn

from domain.jobs.job import ClaimedJob, NewJob, State
from domain.jobs.lifecycle import Settlement
from domain.scheduling.backlog_demand import BacklogKey
from engine.process.hints import DEMAND, Message, demand_message
from engine.process.runtime import Runtime
from engine.worker import claims as claims_module
from engine.worker import loop as loop_module
from engine.worker.execution import Report
from engine.worker.loop import CHECK_S, LedgerLoop
from settings import Settings
from storage.ledger import ledger
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org
from tests.engine.worker.test_lost_answers import Forgetful, run_process

SLOTS = 4


class Hub:
    """An event loop that does nothing by itself."""

    def __init__(self) -> None:
        self.woken: list[Callable[[], None]] = []

    def call_soon(self, callback: Callable[[], None]) -> None:
        """From another thread."""
        self.woken.append(callback)

    def call_later(self, *_given: object) -> object:
        return object()

    def call_repeatedly(self, *_given: object) -> None:
        """Never calls."""


class Pool:
    """Takes batches and runs none."""

    num_processes = SLOTS
    uses_semaphore = False

    def __init__(self) -> None:
        self.jobs: list[UUID] = []
        self.taken: list[ClaimedJob] = []

    def apply_async(self, _perform: object, *, args: tuple[Any, int], **_callbacks: object) -> None:
        self.taken += args[0]
        self.jobs += [job.job_id for job in args[0]]

    def reports(self, *, seconds: float) -> list[Report]:
        """What a pool would report that had done all it was given since the last report, each in so many seconds."""
        ended = [Settlement(job.job_id, job.token, State.SUCCEEDED, output={}) for job in self.taken]
        self.taken.clear()
        return [Report(done.job_id, done.token, "succeeded", done, seconds) for done in ended]


class Consumer:
    """Celery's, as far as the loop knows it."""

    connection_errors = (ConnectionError,)

    def __init__(self) -> None:
        self.hub, self.pool, self.asked = Hub(), Pool(), 0

    def ask_for(self, messages: int) -> None:
        self.asked = messages


class Broker:
    """Messages on their way to the loop, and which of them were answered how."""

    def __init__(self) -> None:
        self.acknowledged, self.rejected = 0, 0

    def message(self, headers: Message) -> SimpleNamespace:
        return SimpleNamespace(
            headers=headers,
            delivery_info={"routing_key": "default"},
            ack_log_error=lambda *_: self._count(acknowledged=1),
            reject_log_error=lambda *_: self._count(rejected=1),
        )

    def _count(self, *, acknowledged: int = 0, rejected: int = 0) -> None:
        self.acknowledged += acknowledged
        self.rejected += rejected


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    with run_process(settings) as running:
        yield running


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, "probe_jobs.noop", light=True)
    return make_org(database)


def fill(process: Runtime, org: UUID, count: int) -> list[UUID]:
    with process.database.ledger() as tx:
        jobs = [NewJob("probe_jobs.noop", org, {}) for _ in range(count)]
        return [one.job_id for one in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)]


def states(database: Connection) -> list[str]:
    return [row[0] for row in database.execute("select state from jobs order by id")]


def make_loop(process: Runtime) -> tuple[LedgerLoop, Consumer]:
    loop, consumer = LedgerLoop(process), Consumer()
    loop.attach(consumer)
    return loop, consumer


def test_a_message_with_demand_is_answered_when_its_jobs_are_claimed(
    process: Runtime, org: UUID, database: Connection
) -> None:
    job_ids, broker, (loop, consumer) = fill(process, org, 3), Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 5})))
    assert broker.acknowledged == 0
    loop.turn()
    # As many as could begin, for nobody knows yet how long they take; the demand was for more than there are jobs.
    assert states(database) == ["claimed"] * 3
    assert sorted(consumer.pool.jobs) == sorted(job_ids)
    loop.turn()
    assert (broker.acknowledged, loop.health()["hinted"]) == (1, 0)


def test_demand_that_came_before_a_job_was_seen_is_used_at_the_pace_of_the_first(
    process: Runtime, org: UUID, database: Connection
) -> None:
    fill(process, org, 64)
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 64})))
    loop.turn()
    assert states(database).count("claimed") == SLOTS, "nobody knows yet how long they take"
    for _ in range(2):  # a turn claims before it learns from what it settles
        loop.deliver(consumer.pool.reports(seconds=0.0001))
        loop.turn()
    loop.turn()
    assert Counter(states(database)) == {"succeeded": 2 * SLOTS, "claimed": 64 - 2 * SLOTS}


def test_a_pool_s_thread_wakes_the_loop_only_when_no_turn_is_set(
    process: Runtime, org: UUID, database: Connection
) -> None:
    fill(process, org, 3)
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 3})))
    loop.turn()
    first, *others = consumer.pool.reports(seconds=0.1)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(loop.deliver, [first]).result()
        (wake,) = consumer.hub.woken
        wake()
        for other in others:
            pool.submit(loop.deliver, [other]).result()
    assert consumer.hub.woken == [wake], "the turn that is set takes them too"
    loop.turn()
    assert states(database) == ["succeeded"] * 3


def test_what_cannot_be_written_by_a_mistake_of_ours_is_kept_and_written_later(
    process: Runtime, org: UUID, database: Connection
) -> None:
    fill(process, org, 2)
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 2})))
    loop.turn()
    loop.deliver(consumer.pool.reports(seconds=0.1))
    database.execute("alter table audit_entries rename column data to facts")
    with pytest.raises(UndefinedColumn):
        loop.turn()
    assert (loop.idle, states(database)) == (False, ["claimed"] * 2)
    database.execute("alter table audit_entries rename column facts to data")
    loop.check()
    loop.turn()
    assert (loop.idle, states(database)) == (True, ["succeeded"] * 2)


def test_demand_that_cannot_be_read_is_refused(process: Runtime, org: UUID, database: Connection) -> None:
    broker, (loop, _) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 5}) | {DEMAND: [["x"]]}))
    assert (broker.rejected, loop.health()["hinted"]) == (1, 0)
    refused = database.execute("select task, field, reason from refused_messages").fetchall()
    assert refused == [("postroom.claim_backlog", "demand", "cannot be read")]


def test_what_was_claimed_from_a_backlog_without_an_answer_is_given_back_and_claimed_again(
    process: Runtime, org: UUID, settings: Settings, database: Connection
) -> None:
    job_ids, broker, (loop, consumer) = fill(process, org, 2), Broker(), make_loop(process)
    first, process.database = process.database, Forgetful(settings, lost={1})
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 2})))
    loop.turn()
    assert (loop.database_away, states(database), consumer.pool.jobs) == (True, ["claimed"] * 2, [])
    loop.turn()
    assert (loop.database_away, broker.acknowledged) == (False, 1)
    assert sorted(consumer.pool.jobs) == sorted(job_ids)
    causes = database.execute("select data ->> 'cause' from audit_log where event = 'job.retried'").fetchall()
    assert causes == [("unanswered",)] * 2
    assert database.execute("select distinct attempt from jobs").fetchall() == [(0,)]
    process.database.dispose()
    process.database = first


def test_a_claim_that_is_committed_late_is_given_back_all_the_same(
    process: Runtime, org: UUID, settings: Settings, database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection broke, and PostgreSQL was still at it: the first look finds nothing to give back."""
    clock = Clock()
    monkeypatch.setattr(loop_module, "time", clock)
    monkeypatch.setattr(claims_module, "time", clock)
    fill(process, org, 1)
    broker, (loop, consumer) = Broker(), make_loop(process)
    first, process.database = process.database, Forgetful(settings, lost={1})
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 1})))
    loop.turn()
    token = database.execute("select claim_token from jobs").fetchone()
    hide = "update jobs set claim_token = uuidv4(), next_check_at = next_check_at + interval '1 hour'"
    database.execute(hide)
    loop.turn()
    assert (loop.database_away, consumer.pool.jobs) == (False, [])
    database.execute("update jobs set claim_token = %s, next_check_at = next_check_at - interval '1 hour'", token or ())
    loop.turn()
    assert states(database) == ["claimed"], "asked again at once: that would be once in each turn"
    clock.now += CHECK_S
    loop.turn()
    assert states(database) == ["queued"]
    process.database.dispose()
    process.database = first


class Clock:
    """A clock that stands until it is moved."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now
