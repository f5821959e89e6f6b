"""The publisher: demand for what waits in the backlog, and how soon it looks again."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import redis
from psycopg import Connection

from domain.jobs.job import NewJob
from domain.jobs.scheduling.backlog_demand import BacklogKey
from domain.jobs.scheduling.fairness import SMALLEST_WINDOW
from engine.broker.hints import CLAIM_BACKLOG, read_message
from engine.relay.backlog import BUSY_S, EAGER_S, IDLE_S, BacklogPublisher, QueueState
from engine.relay.broker import Broker
from engine.runtime import Runtime
from settings import Settings
from storage.jobs import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "probe.run")
    return make_org(database)


@pytest.fixture
def broker(settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.broker_url.get_secret_value()) as client:
        client.flushdb()
        yield client


def fill(store: Database, org: UUID, job_type: str, count: int, *, priority: int = 0) -> None:
    with store.ledger() as tx:
        jobs = [NewJob(job_type, org, {}, priority=priority) for _ in range(count)]
        ledger.enqueue(tx, jobs, publisher=True, hint_timeout=HINT_TIMEOUT, burst=0)


def sent(broker: redis.Redis) -> Counter[Any]:
    """What the broker holds of the default queue: the demand for each backlog key, and how many hints by type."""
    found: Counter[Any] = Counter()
    for item in broker.lrange("default", 0, -1):
        headers = json.loads(item)["headers"]
        named = read_message("default", headers).named
        found.update(dict(named) if headers["task"] == CLAIM_BACKLOG else [headers["task"]] * len(named))
    return found


def key(org: UUID, *, priority: int = 0) -> BacklogKey:
    return BacklogKey("default", priority, org)


def test_a_window_is_filled_and_no_job_is_marked(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis, database: Connection
) -> None:
    fill(store, org, "probe.run", 100)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker) == {key(org): SMALLEST_WINDOW}
    assert database.execute("select count(*) from jobs where published_at is not null").fetchone() == (0,)


def test_jobs_are_demanded_one_by_one_while_the_window_is_small(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    """Each may last for minutes, and one process would take all that a message allows."""
    fill(store, org, "probe.run", 100)
    BacklogPublisher(process, Broker(process)).turn()
    assert broker.llen("default") == SMALLEST_WINDOW


def test_the_higher_priority_goes_first_and_leaves_the_lower_a_share(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    fill(store, org, "probe.run", 100)
    fill(store, org, "probe.run", 100, priority=5)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker) == {key(org, priority=5): SMALLEST_WINDOW - 1, key(org): 1}


def test_what_lower_priorities_leave_of_their_share_the_highest_has(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    publisher = BacklogPublisher(process, Broker(process))
    fill(store, org, "probe.run", 100, priority=5)
    fill(store, org, "probe.run", 1, priority=-5)
    for _ in range(3):
        broker.flushdb()
        publisher.turn()
    broker.flushdb()
    fill(store, org, "probe.run", 1, priority=1)
    publisher.turn()
    assert sum(sent(broker).values()) >= SMALLEST_WINDOW


def test_another_tenants_job_waits_for_no_flood_of_the_highest_priority(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis, database: Connection
) -> None:
    theirs = make_org(database)
    fill(store, org, "probe.run", 500, priority=100)
    fill(store, theirs, "probe.run", 1)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker)[key(theirs)] == 1


def test_no_more_demand_than_jobs_and_lost_demand_comes_again(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    publisher, three = BacklogPublisher(process, Broker(process)), {key(org): 3}
    fill(store, org, "probe.run", 3)
    publisher.turn()
    publisher.turn()
    assert sent(broker) == three
    broker.flushdb()
    publisher.turn()
    assert sent(broker) == three


def test_a_message_is_taken_to_hold_as_many_jobs_as_those_that_were_left() -> None:
    """Also after a long backlog, when each message is a fresh hint again."""
    state = QueueState()
    assert state.look(3, seconds=0.1) == 3
    state.published(160, 10)
    assert state.look(13, seconds=0.1) == 163
    state.look(0, seconds=0.1)
    state.published(16, 1)
    assert state.look(1, seconds=0.1) == 16
    assert state.look(0, seconds=0.1) == 0
    assert state.look(5, seconds=0.1) == 5


def test_it_looks_again_sooner_the_faster_its_windows_are_emptied(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    publisher = BacklogPublisher(process, Broker(process))
    assert publisher.turn() == IDLE_S
    fill(store, org, "probe.run", 100)
    assert publisher.turn() == BUSY_S
    broker.flushdb()  # as workers would
    assert publisher.turn() == EAGER_S
    assert publisher.turn() == BUSY_S
