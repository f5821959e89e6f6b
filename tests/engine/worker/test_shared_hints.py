"""Hints that find no slot in the worker that got them go to workers that may have some; and who sees what is held."""

import json
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import redis
from psycopg import Connection

from domain.jobs.job import Hint
from domain.jobs.scheduling.fairness import AHEAD_S
from engine.broker.hints import Message, hint_message, read_message
from engine.runtime import Runtime
from engine.worker.execution import MARKERS
from engine.worker.loop import CHECK_S
from settings import Settings
from storage.jobs import ledger
from tests.doubles import probe_jobs
from tests.doubles.factories import make_job_type, make_org
from tests.engine.worker.test_loop import SLOTS, Broker, Clock, fill, make_loop, states
from tests.engine.worker.test_lost_answers import run_process

NAME = probe_jobs.noop.name


@pytest.fixture
def process(settings: Settings) -> Iterator[Runtime]:
    with run_process(settings) as running:
        yield running


@pytest.fixture
def org(database: Connection, process: Runtime) -> UUID:
    make_job_type(process.database, NAME)
    return make_org(database)


@pytest.fixture
def broker(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.broker_url.get_secret_value()) as client:
        client.flushdb()
        yield client


def message_of(job_ids: list[UUID]) -> Message:
    return hint_message([Hint(job_id, NAME, "default") for job_id in job_ids])


def sent_back(broker: redis.Redis) -> list[list[UUID]]:
    """The jobs that each message in the broker names."""
    headers = [json.loads(item)["headers"] for item in broker.lrange("default", 0, -1)]
    return [[what for what, _ in read_message("default", each).named if isinstance(what, UUID)] for each in headers]


def test_a_message_of_jobs_that_may_be_long_is_used_for_free_slots_and_the_rest_goes_back(
    process: Runtime, org: UUID, database: Connection, broker: redis.Redis
) -> None:
    job_ids, messages, (loop, consumer) = fill(process, org, 10), Broker(), make_loop(process)
    loop.received(messages.message(message_of(job_ids)))
    loop.turn()
    assert Counter(states(database)) == {"claimed": SLOTS, "queued": 10 - SLOTS}
    assert (loop.health()["hinted"], messages.acknowledged) == (0, 1)
    back = sent_back(broker)
    assert {len(named) for named in back} == {1}, "so none is taken together with others again"
    assert {*consumer.pool.jobs, *(job_id for (job_id,) in back)} == set(job_ids)


def test_a_single_hint_waits_for_a_slot(process: Runtime, org: UUID, broker: redis.Redis) -> None:
    """RabbitMQ would bring a hint that was sent back again and again."""
    job_ids, messages, (loop, _) = fill(process, org, SLOTS + 1), Broker(), make_loop(process)
    for job_id in job_ids:
        loop.received(messages.message(message_of([job_id])))
    loop.turn()
    assert (loop.health()["hinted"], sent_back(broker)) == (1, [])


def test_hints_of_short_jobs_wait_here_and_go_back_when_they_have_waited_long(
    process: Runtime, org: UUID, database: Connection, broker: redis.Redis
) -> None:
    clock, messages = Clock(), Broker()
    loop, consumer = make_loop(process, clock.monotonic)
    first, *rest = fill(process, org, 64)
    loop.received(messages.message(message_of([first])))
    loop.turn()
    loop.deliver(consumer.pool.reports(seconds=0.04))
    loop.turn()
    loop.received(messages.message(message_of(rest)))
    loop.turn()
    held = states(database).count("claimed")
    assert SLOTS < held < len(rest)
    assert (loop.health()["hinted"], sent_back(broker)) == (len(rest) - held, [])
    clock.now += AHEAD_S + CHECK_S
    loop.check()
    assert (loop.health()["hinted"], len(sent_back(broker))) == (0, len(rest) - held)


def test_the_start_of_a_long_job_is_written_once(process: Runtime, org: UUID, database: Connection) -> None:
    (job_id,), messages, (loop, consumer) = fill(process, org, 1), Broker(), make_loop(process)
    loop.received(messages.message(message_of([job_id])))
    loop.turn()
    MARKERS.move(consumer.pool.places[0], 0)  # as the child does
    ((job, batch),) = loop.pool.running()
    assert (job.job_id, batch.recorded, states(database)) == (job_id, None, ["claimed"])
    loop.check()
    assert (batch.recorded, states(database)) == (job_id, ["running"])
    with process.database.pinned() as tx:
        assert ledger.record_starts(tx, [(job.job_id, job.token, job.created_at)]) == frozenset()
    assert list(loop.held()) == [job]


class Dispatcher:
    """Celery's, of events; tells what it was given."""

    enabled = True

    def __init__(self, *groups: str) -> None:
        self.groups, self.sent = set(groups), list[tuple[str, dict[str, Any]]]()

    def send(self, kind: str, **fields: Any) -> None:  # noqa: ANN401 - Celery's
        self.sent.append((kind, fields))


@pytest.mark.parametrize(
    ("dispatcher", "listens"),
    [(Dispatcher(), True), (Dispatcher("task", "worker"), True), (Dispatcher("worker"), False), (None, False)],
    ids=["-E", "enabled later", "workers only", "no dispatcher"],
)
def test_events_are_made_of_claims_and_ends_while_somebody_listens(
    process: Runtime, org: UUID, dispatcher: Dispatcher | None, listens: bool
) -> None:
    job_ids, messages, (loop, consumer) = fill(process, org, 2), Broker(), make_loop(process)
    consumer.event_dispatcher = dispatcher
    loop.received(messages.message(message_of(job_ids)))
    loop.turn()
    loop.deliver(consumer.pool.reports(seconds=0.1))
    loop.turn()
    sent = dispatcher.sent if dispatcher else []
    ends = ["task-received"] * 2 + ["task-succeeded"] * 2
    assert [kind for kind, _ in sent] == (ends if listens else [])
    assert {fields["uuid"] for _, fields in sent} == ({str(job_id) for job_id in job_ids} if listens else set())


def test_a_suspect_that_is_in_the_way_sends_the_others_back(
    process: Runtime, org: UUID, database: Connection, broker: redis.Redis
) -> None:
    """Nothing runs beside it, for however long."""
    suspect, *others = fill(process, org, 5)
    database.execute("update jobs set suspect = true where id = %s", (suspect,))
    messages, (loop, _) = Broker(), make_loop(process)
    loop.received(messages.message(message_of([suspect])))
    loop.turn()
    loop.turn()
    assert states(database)[0] == "running"
    loop.received(messages.message(message_of(others)))
    loop.turn()
    assert [job_id for (job_id,) in sent_back(broker)] == others[::-1]
    assert SimpleNamespace(**loop.health()).hinted == 0
