"""pytest-celery's nodes stand on local processes: they run, die, come back, freeze and tell what they wrote."""

from pathlib import Path

import psutil
import pytest
import redis
from pytest_celery import CeleryTestSetup

from tests.cluster.nodes import BrokerNode, WorkerCommand, WorkerNode, run_worker
from tests.waiting import eventually

DONE = "probe:done"
APP = "tests.cluster.probe_app"
THREADS = WorkerCommand(queues=("default",), app=APP, name="threaded")
PREFORK = WorkerCommand(queues=("critical",), app=APP, name="forked", pool="prefork", concurrency=1)


@pytest.fixture
def worker_commands() -> tuple[WorkerCommand, ...]:
    return (THREADS,)


@pytest.fixture
def worker(celery_setup: CeleryTestSetup) -> WorkerNode:
    node: WorkerNode = celery_setup.worker
    return node


def done(broker: BrokerNode) -> list[str]:
    with redis.Redis.from_url(broker.url, decode_responses=True) as client:
        return [str(line) for line in client.lrange(DONE, 0, -1)]


def send(setup: CeleryTestSetup, name: str, *args: str, queue: str = "default") -> None:
    setup.app.send_task(name, args=args, queue=queue)


def wait_for(broker: BrokerNode, *lines: str) -> None:
    eventually(lambda: done(broker) == list(lines), within=30, describe=f"the tasks {lines} to be done")


@pytest.mark.parametrize("worker_commands", [(THREADS, PREFORK)])
def test_each_worker_of_a_cluster_takes_from_its_own_queue(celery_setup: CeleryTestSetup, broker: BrokerNode) -> None:
    threaded, forked = celery_setup.worker_cluster
    assert celery_setup.ready(control=True)
    send(celery_setup, "probe.echo", DONE, "first", queue="critical")
    wait_for(broker, f"first by {forked.hostname()}")
    send(celery_setup, "probe.echo", DONE, "second")
    wait_for(broker, f"first by {forked.hostname()}", f"second by {threaded.hostname()}")


@pytest.mark.parametrize("worker_commands", [(THREADS,), (PREFORK,)])
def test_a_worker_killed_in_the_middle_of_a_task_runs_again(
    celery_setup: CeleryTestSetup, worker: WorkerNode, broker: BrokerNode
) -> None:
    queue, killed = worker.worker_queue, worker.pid
    send(celery_setup, "probe.hang", queue=queue)
    worker.wait_for_log("hanging")
    worker.kill()
    assert not worker.alive
    worker.start()
    assert worker.alive
    assert worker.pid != killed
    send(celery_setup, "probe.echo", DONE, "again", queue=queue)
    wait_for(broker, f"again by {worker.hostname()}")


def test_a_stopped_worker_ends_warmly_and_a_restarted_one_works(
    celery_setup: CeleryTestSetup, worker: WorkerNode, broker: BrokerNode
) -> None:
    worker.stop()
    assert not worker.alive
    worker.assert_log_exists("Warm shutdown")
    worker.start()
    worker.restart()
    assert worker.logs().count("ready.") == 3
    send(celery_setup, "probe.echo", DONE, "after", queue="default")
    wait_for(broker, f"after by {worker.hostname()}")


def test_a_frozen_worker_does_nothing_until_it_is_thawed(
    celery_setup: CeleryTestSetup, worker: WorkerNode, broker: BrokerNode
) -> None:
    worker.freeze()
    process = psutil.Process(worker.pid)
    eventually(lambda: process.status() == psutil.STATUS_STOPPED, describe="the worker to stand still")
    send(celery_setup, "probe.echo", DONE, "late")
    assert worker.alive
    assert done(broker) == []
    worker.thaw()
    wait_for(broker, f"late by {worker.hostname()}")


def test_a_broker_comes_back_empty_at_its_address_and_the_worker_finds_it(
    celery_setup: CeleryTestSetup, worker: WorkerNode, broker: BrokerNode
) -> None:
    send(celery_setup, "probe.echo", DONE, "before")
    wait_for(broker, f"before by {worker.hostname()}")
    address = broker.url
    broker.kill()
    broker.start()
    assert broker.url == address
    assert done(broker) == []
    eventually(lambda: worker.logs().count("Connected to redis") >= 2, within=30, describe="the worker's reconnection")
    send(celery_setup, "probe.echo", DONE, "after")
    wait_for(broker, f"after by {worker.hostname()}")
    broker.flush()
    assert done(broker) == []


def test_a_worker_that_cannot_start_fails_with_its_log(tmp_path: Path) -> None:
    node = run_worker(WorkerCommand(queues=("default",), app="tests.cluster.no_such_app"), {}, tmp_path)
    with pytest.raises(AssertionError, match="no_such_app"):
        node.ready()
    node.teardown()
