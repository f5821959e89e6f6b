"""pytest-celery's fixtures, filled with our nodes: override `worker_commands` (and `cluster_environment`) in a test."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_celery import CeleryBrokerCluster, CeleryWorkerCluster

from tests.cluster.nodes import BrokerNode, WorkerCommand, run_broker, run_worker


@pytest.fixture
def worker_commands() -> tuple[WorkerCommand, ...]:
    """The workers of the cluster; parametrize or override it."""
    return (WorkerCommand(queues=("default",)),)


@pytest.fixture
def celery_broker_cluster(tmp_path: Path) -> Iterator[CeleryBrokerCluster]:
    """One Valkey of the test's own."""
    broker = run_broker(tmp_path / "broker")
    try:
        broker.ready()
        yield CeleryBrokerCluster(broker)
    finally:
        broker.teardown()


@pytest.fixture
def celery_backend_cluster() -> None:
    """No result backend: tests read results where the jobs write them."""


@pytest.fixture
def broker(celery_broker_cluster: CeleryBrokerCluster) -> BrokerNode:
    """The one broker."""
    node: BrokerNode = celery_broker_cluster[0]
    return node


@pytest.fixture
def cluster_environment(broker: BrokerNode) -> Mapping[str, str]:
    """What every worker of the cluster finds in its environment."""
    return {"POSTROOM_BROKER_URL": broker.url}


@pytest.fixture
def celery_worker_cluster(
    worker_commands: tuple[WorkerCommand, ...], cluster_environment: Mapping[str, str], tmp_path: Path
) -> Iterator[CeleryWorkerCluster]:
    """All workers, started side by side and ready."""
    with ExitStack() as stack:
        nodes = [run_worker(command, cluster_environment, tmp_path) for command in worker_commands]
        for node in nodes:
            stack.callback(node.teardown)
        cluster = CeleryWorkerCluster(*nodes)
        cluster.ready()
        yield cluster
