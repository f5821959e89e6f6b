"""The publisher: hints for ordinary jobs, demand for light ones, and how soon it looks again."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
import redis
from psycopg import Connection

from domain.jobs.job import NewJob
from domain.scheduling.backlog_demand import BacklogKey
from domain.scheduling.fairness import SMALLEST_WINDOW
from engine.process.hints import CLAIM_BACKLOG, read_message
from engine.process.runtime import Runtime
from engine.relay.backlog import BUSY_S, EAGER_S, IDLE_S, BacklogPublisher
from engine.relay.broker import Broker
from settings import Settings
from storage.ledger import ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, make_job_type, make_org


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, "probe.run")
    make_job_type(store, "probe.light", light=True)
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
        named = read_message("default", headers)
        found.update(dict(named) if headers["task"] == CLAIM_BACKLOG else [headers["task"]] * len(named))
    return found


def test_both_kinds_share_the_window_and_a_light_job_is_not_marked(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis, database: Connection
) -> None:
    fill(store, org, "probe.run", 100)
    fill(store, org, "probe.light", 100)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker) == {"probe.run": SMALLEST_WINDOW // 2, BacklogKey("default", 0, org): SMALLEST_WINDOW // 2}
    marked = database.execute(
        "select job_type, count(*) from jobs where published_at is not null group by 1"
    ).fetchall()
    assert marked == [("probe.run", SMALLEST_WINDOW // 2)]


def test_what_one_kind_leaves_the_other_has(process: Runtime, store: Database, org: UUID, broker: redis.Redis) -> None:
    fill(store, org, "probe.run", 1)
    fill(store, org, "probe.light", 100)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker) == {"probe.run": 1, BacklogKey("default", 0, org): SMALLEST_WINDOW - 1}


def test_the_higher_priority_goes_first_of_whatever_kind(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    fill(store, org, "probe.run", 100)
    fill(store, org, "probe.light", 100, priority=5)
    BacklogPublisher(process, Broker(process)).turn()
    assert sent(broker) == {BacklogKey("default", 5, org): SMALLEST_WINDOW}


def test_no_more_demand_than_jobs_and_lost_demand_comes_again(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    publisher, three = BacklogPublisher(process, Broker(process)), {BacklogKey("default", 0, org): 3}
    fill(store, org, "probe.light", 3)
    publisher.turn()
    publisher.turn()
    assert sent(broker) == three
    broker.flushdb()
    publisher.turn()
    assert sent(broker) == three


def test_it_looks_again_sooner_the_faster_its_windows_are_emptied(
    process: Runtime, store: Database, org: UUID, broker: redis.Redis
) -> None:
    publisher = BacklogPublisher(process, Broker(process))
    assert publisher.turn() == IDLE_S
    fill(store, org, "probe.light", 100)
    assert publisher.turn() == BUSY_S
    broker.flushdb()  # as workers would
    assert publisher.turn() == EAGER_S
    assert publisher.turn() == BUSY_S
