"""The ledger loop by itself: what it makes of messages, and of a claim whose answer was lost."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from domain.jobs.job import ClaimedJob, NewJob, State
from domain.jobs.lifecycle import Settlement
from domain.jobs.scheduling.backlog_demand import BacklogKey
from domain.jobs.scheduling.fairness import AHEAD_S
from engine.broker.hints import DEMAND, Message, demand_message
from engine.runtime import Runtime
from engine.worker.adoption import MOST_UNWRITTEN
from engine.worker.capacity import SOON_S
from engine.worker.execution import Report
from engine.worker.loop import CHECK_S, LedgerLoop
from settings import Settings
from storage.jobs import ledger
from storage.postgres.database import Database
from tasks import celery
from tests.doubles import probe_jobs
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org, make_settings
from tests.engine.worker.test_lost_answers import Forgetful, run_process
from tests.waiting import eventually

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
        self.callbacks: list[Callable[[Sequence[Report]], object]] = []
        self.places: list[int] = []

    def apply_async(self, _perform: object, *, args: tuple[Any, int], **callbacks: Any) -> None:  # noqa: ANN401 - Celery's
        self.taken += args[0]
        self.places.append(args[1])
        self.callbacks.append(callbacks["callback"])
        self.jobs += [job.job_id for job in args[0]]

    def ended(self, *, seconds: float = 0.0) -> list[tuple[ClaimedJob, Report]]:
        """What a pool would report that had done all it was given since the last report, each in so many seconds."""
        done = [(job, Settlement(job.job_id, job.token, State.SUCCEEDED, output={})) for job in self.taken]
        self.taken.clear()
        return [(job, Report(job.job_id, job.token, "succeeded", end, seconds)) for job, end in done]

    def reports(self, *, seconds: float) -> list[Report]:
        """The same, without the jobs."""
        return [report for _, report in self.ended(seconds=seconds)]

    def end_batch(self) -> None:
        """Report the one batch that is under way, as a pool does, and leave its slot."""
        (callback,) = self.callbacks
        self.callbacks.clear()
        callback(self.reports(seconds=0.0001))


class Consumer:
    """Celery's, as far as the loop knows it."""

    connection_errors = (ConnectionError,)
    app, hostname, served_queues = celery, "worker@test", staticmethod(lambda: ["default"])
    event_dispatcher: Any = None

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
    make_job_type(process.database, "probe_jobs.noop")
    return make_org(database)


def fill(process: Runtime, org: UUID, count: int, job_type: str = "probe_jobs.noop", version: int = 1) -> list[UUID]:
    with process.database.ledger() as tx:
        jobs = [NewJob(job_type, org, {}, version) for _ in range(count)]
        return [one.job_id for one in ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)]


def states(database: Connection) -> list[str]:
    return [row[0] for row in database.execute("select state from jobs order by id")]


def make_loop(process: Runtime, monotonic: Callable[[], float] = time.monotonic) -> tuple[LedgerLoop, Consumer]:
    loop, consumer = LedgerLoop(process, monotonic), Consumer()
    loop.attach(consumer)
    return loop, consumer


def turn_until_idle(loop: LedgerLoop) -> None:
    """Let what somebody had locked rest, and be written."""

    def turned() -> bool:
        loop.turn()
        return loop.idle

    eventually(turned, describe="what was put off is written")


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


def test_no_more_of_a_backlog_is_claimed_than_begins_soon(process: Runtime, org: UUID, database: Connection) -> None:
    fill(process, org, 600)
    broker, (loop, consumer) = Broker(), make_loop(process)
    for _ in range(3):
        loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 256})))
    loop.turn()
    assert Counter(states(database)) == {"claimed": SLOTS, "queued": 600 - SLOTS}, "they may be long"
    for _ in range(2):
        loop.deliver(consumer.pool.reports(seconds=0.001))
        loop.turn()
    loop.turn()
    held = states(database).count("claimed")
    assert SLOTS < held <= SLOTS + SLOTS * SOON_S / 0.001


def test_a_backlog_that_brought_a_long_job_is_claimed_for_free_slots_alone(
    process: Runtime, org: UUID, database: Connection
) -> None:
    short, long = probe_jobs.noop.name, probe_jobs.stepping.name
    for name in (short, long):
        make_job_type(process.database, name)
    fill(process, org, SLOTS - 1, short)
    fill(process, org, 1, long)
    fill(process, org, 100, short)
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 100})))
    loop.turn()
    took = {short: 0.0001, long: 60.0}
    loop.deliver([one._replace(seconds=took[job.job_type]) for job, one in consumer.pool.ended()])
    loop.turn()  # claims before it learns
    loop.turn()
    assert Counter(states(database)) == {"succeeded": SLOTS, "claimed": SLOTS, "queued": 100 - SLOTS}


def test_demand_that_finds_no_room_is_dropped_when_the_relay_has_sent_it_again(
    process: Runtime, org: UUID, database: Connection
) -> None:
    clock = Clock()
    make_job_type(process.database, "probe_jobs.noop")
    fill(process, org, 10)
    broker, (loop, consumer) = Broker(), make_loop(process, clock.monotonic)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 10})))
    loop.turn()
    clock.now += AHEAD_S
    loop.check()
    assert (loop.health()["hinted"], broker.acknowledged) == (10 - SLOTS, 0)
    clock.now += CHECK_S
    loop.check()
    assert (loop.health()["hinted"], broker.acknowledged) == (0, 1)
    loop.deliver(consumer.pool.reports(seconds=0.1))
    loop.turn()
    assert Counter(states(database)) == {"succeeded": SLOTS, "queued": 10 - SLOTS}
    assert consumer.asked > 0, "there is room for more"


def test_demand_is_used_however_old_while_there_is_room(process: Runtime, org: UUID, database: Connection) -> None:
    clock = Clock()
    make_job_type(process.database, "probe_jobs.noop")
    fill(process, org, 2)
    broker, (loop, _) = Broker(), make_loop(process, clock.monotonic)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 2})))
    clock.now += 2 * CHECK_S
    loop.check()
    loop.turn()
    assert states(database) == ["claimed"] * 2


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
    loop.turn()
    assert (loop.idle, states(database)) == (False, ["claimed"] * 2)
    database.execute("alter table audit_entries rename column facts to data")
    turn_until_idle(loop)
    assert states(database) == ["succeeded"] * 2


def test_demand_that_cannot_be_read_is_refused(process: Runtime, org: UUID, database: Connection) -> None:
    broker, (loop, _) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 5}) | {DEMAND: [["x"]]}))
    loop.turn()
    assert (broker.rejected, loop.health()["hinted"], loop.health()["unwritten_messages"]) == (1, 0, 0)
    refused = database.execute("select task, field, reason from refused_messages").fetchall()
    assert refused == [("postroom.claim_backlog", "demand", "holds what is no [priority, org, number of jobs]")]


def test_messages_that_cannot_be_written_take_no_hint_s_place(process: Runtime) -> None:
    """Somebody else's lock, or a database that is away, may hold them up for long."""
    broker, (loop, consumer) = Broker(), make_loop(process)
    there, hints_wanted = process.database, consumer.asked
    process.database = Database(make_settings(database_url="postgresql://me@127.0.0.1:1/nothing"))
    unreadable = demand_message({BacklogKey("default", 0, uuid4()): 1}) | {DEMAND: [["x"]]}
    for unwritten in (3, MOST_UNWRITTEN + 3):
        while int(str(loop.health()["unwritten_messages"])) < unwritten:
            loop.received(broker.message(unreadable))
        loop.turn()
        assert consumer.asked == min(unwritten, MOST_UNWRITTEN) + hints_wanted
    process.database.dispose()
    process.database = there
    for _ in range(2):
        loop.turn()
    assert (broker.rejected, consumer.asked) == (MOST_UNWRITTEN + 3, hints_wanted)


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
    process: Runtime, org: UUID, settings: Settings, database: Connection
) -> None:
    """The connection broke, and PostgreSQL was still at it: the first look finds nothing to give back."""
    clock = Clock()
    fill(process, org, 1)
    broker, (loop, consumer) = Broker(), make_loop(process, clock.monotonic)
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


def test_a_suspect_runs_alone_in_its_worker(process: Runtime, org: UUID, database: Connection) -> None:
    """Jobs that a died process held may have ended it: the next one to die alone has."""
    suspects = fill(process, org, 2)
    database.execute("update jobs set suspect = true")
    fill(process, org, 3)
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 5})))
    loop.turn()
    claimed = "select id from jobs where state in ('claimed', 'running') order by id"
    assert not {row[0] for row in database.execute(claimed)} & set(suspects), "it holds others"
    began = set()
    while consumer.pool.callbacks:
        held = tuple(row[0] for row in database.execute(claimed))
        began |= {held} if set(held) & set(suspects) else set()
        consumer.pool.callbacks.pop(0)(consumer.pool.reports(seconds=0.0001))
        loop.turn()
        loop.turn()
    assert began == {(job_id,) for job_id in suspects}, "one after the other, and nothing beside them"


def test_no_broker_is_asked_for_jobs_while_a_suspect_runs(process: Runtime, org: UUID, database: Connection) -> None:
    fill(process, org, 1)
    database.execute("update jobs set suspect = true")
    broker, (loop, consumer) = Broker(), make_loop(process)
    loop.received(broker.message(demand_message({BacklogKey("default", 0, org): 1})))
    loop.turn()
    assert (len(consumer.pool.jobs), consumer.asked) == (0, 0), "it was put off, and is claimed alone next"
    loop.turn()
    assert (len(consumer.pool.jobs), consumer.asked) == (1, 0)
    consumer.pool.end_batch()
    loop.turn()
    assert consumer.asked > 0


class Clock:
    """A clock that stands until it is moved."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now
