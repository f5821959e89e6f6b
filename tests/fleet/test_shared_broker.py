"""Two fleets, each with its own ledger, on one broker: queues, commands to workers and `doctor` stay apart."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
import redis
from celery import Celery
from pydantic import SecretStr

from commands.doctor import queue_checks
from domain.jobs.job import Hint
from domain.jobs.queues import BrokerNames
from engine.runtime import Runtime
from settings import Settings
from tests.fleet.fleet import END_WITHIN_S, Fleet
from tests.servers.servers import TEMPLATE, SessionServers, temporary_database
from tests.waiting import eventually

JOBS = 20
PREFIX = "staging:"


@pytest.fixture
def other(fleet: Fleet, servers: SessionServers, tmp_path: Path) -> Iterator[Fleet]:
    """Another fleet on the broker of the first."""
    folder = tmp_path / "other"
    folder.mkdir()
    with temporary_database(servers, template=TEMPLATE) as database_url, ExitStack() as stack:
        yield Fleet(database_url, fleet.broker_url, folder, stack)


def settings_of(fleet: Fleet, prefix: str) -> Settings:
    return Settings(
        database_url=SecretStr(fleet.database_url), broker_url=SecretStr(fleet.broker_url), queue_prefix=prefix
    )


def enqueue(fleet: Fleet) -> list[UUID]:
    """Enqueue by SQL; the relay of the fleet's workers sends the hints."""
    query = "select postroom.enqueue('probe_jobs.noop', %s) from generate_series(1, %s)"
    return [row[0] for row in fleet.ask(query, fleet.org, JOBS)]


def names_of_workers(broker: str, prefix: str) -> set[str]:
    """Who answers an operator's command to all workers."""
    with Celery("operator", broker=broker) as operator:
        operator.conf.control_exchange = BrokerNames(prefix).control_exchange
        return {name.partition("@")[0] for answer in operator.control.ping(timeout=2) for name in answer}


def consumed_queues(fleet: Fleet, prefix: str) -> set[str]:
    """The queues that have a worker, as `doctor` finds."""
    return {check.name for check in queue_checks(settings_of(fleet, prefix)) if check.ok}


def answers(fleet: Fleet, prefix: str, name: str, queues: set[str]) -> bool:
    """Whether this worker has answered: a busy one misses a question's end, and no other may answer."""
    names, consumed = names_of_workers(fleet.broker_url, prefix), consumed_queues(fleet, prefix)
    assert names <= {name}
    assert consumed <= queues
    return (names, consumed) == ({name}, queues)


def test_two_fleets_on_one_broker_take_no_job_and_no_command_of_each_other(fleet: Fleet, other: Fleet) -> None:
    fleet.worker("plain").ready()
    theirs = enqueue(other)
    client = Runtime(settings_of(other, PREFIX))
    assert client.publisher.publish([Hint(job_id, "probe_jobs.noop", "default") for job_id in theirs], bundle=1)
    client.close()
    ours = enqueue(fleet)
    assert fleet.wait_for_end(ours) == {"succeeded": JOBS}
    with redis.Redis.from_url(fleet.broker_url) as broker:
        assert (broker.llen(f"{PREFIX}default"), broker.llen("default")) == (JOBS, 0)

    other.worker(
        "staging", settings={"POSTROOM_QUEUE_PREFIX": PREFIX}, queues=("default", "deadletter", "exports")
    ).ready()
    assert other.wait_for_end(theirs) == {"succeeded": JOBS}
    both = enqueue(fleet), enqueue(other)
    assert fleet.wait_for_end(both[0]) == other.wait_for_end(both[1]) == {"succeeded": JOBS}
    for each, prefix, name, queues in ((fleet, "", "plain", set()), (other, PREFIX, "staging", {"queue exports"})):
        asked = partial(answers, each, prefix, name, queues | {"queue default", "queue deadletter"})
        eventually(asked, within=END_WITHIN_S, describe=f"the answers of {name}")
        assert each.ask("select count(*) from refused_messages") == [(0,)]
        each.check()
