"""All connections to a server are lost without a word: the work goes on within 30 s, and the log says what happened."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet
from tests.fleet.hanging.networks import Network, put_between

FLEETS = pytest.mark.parametrize("count", [1, 2])
POOLS = pytest.mark.parametrize("pool", ["threads", "prefork"])


@pytest.fixture
def network(fleet: Fleet) -> Iterator[Network]:
    with ExitStack() as stack:
        yield put_between(fleet, stack)


@FLEETS
@POOLS
def test_silent_loss_of_every_connection_to_postgresql(network: Network, count: int, pool: str) -> None:
    workers = network.workers(count, pool)
    assert network.database.silence() > count
    network.work(*[Visit(then="transaction") for _ in range(8)])
    assert all(worker.alive for worker in workers)
    assert any("ledger_unavailable" in worker.logs() for worker in workers)


@FLEETS
@POOLS
def test_silent_loss_of_every_connection_to_valkey(network: Network, count: int, pool: str) -> None:
    workers = network.workers(count, pool)
    assert network.broker.silence() > count
    network.work(*[Visit(then="transaction") for _ in range(8)])
    assert all(worker.alive for worker in workers)


@FLEETS
@POOLS
def test_silent_loss_of_every_connection_to_rabbitmq(fleet_on_rabbitmq: Fleet, count: int, pool: str) -> None:
    with ExitStack() as stack:
        network = put_between(fleet_on_rabbitmq, stack)
        workers = network.workers(count, pool)
        assert network.broker.silence() > count
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert all(worker.alive for worker in workers)
