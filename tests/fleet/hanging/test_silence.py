"""All connections to a server are lost without a word: the work goes on within 30 s, and the log says what happened."""

from contextlib import ExitStack

import pytest

from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet
from tests.fleet.hanging.networks import put_between

FLEETS = pytest.mark.parametrize("pools", [("threads",), ("prefork",), ("threads", "prefork")], ids="+".join)
"""Each kind of worker alone, where nobody else leads the relay or does its work, and two of which one leads."""


@FLEETS
def test_silent_loss_of_every_connection_to_postgresql_and_then_to_valkey(fleet: Fleet, pools: tuple[str, ...]) -> None:
    with ExitStack() as stack:
        network = put_between(fleet, stack)
        workers = network.workers(*pools)
        assert network.database.silence() > len(workers)
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert any("ledger_unavailable" in worker.logs() for worker in workers)
        assert network.broker.silence() > len(workers)
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert all(worker.alive for worker in workers)
