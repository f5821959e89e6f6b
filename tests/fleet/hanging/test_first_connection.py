"""A worker that waits for its first connection to the broker goes on waiting, whatever happens to its children."""

import pytest

from sandbox.servers.valkey_server import ValkeyServer
from tests.doubles.probe_jobs import Noop
from tests.fleet.fleet import Fleet
from tests.waiting import eventually


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_without_a_broker_yet_outlives_its_children(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer, pool: str
) -> None:
    fleet = fleet_with_own_broker
    own_valkey.stop()
    worker = fleet.worker(pool=pool)
    worker.wait_for_log("broker_unavailable")
    children = worker.children
    for child in children:
        child.kill()
    seen = worker.logs().count("broker_unavailable")
    eventually(lambda: worker.logs().count("broker_unavailable") > seen + 1, within=30, describe="further tries")
    own_valkey.start()
    worker.ready()
    assert fleet.wait_for_end([fleet.enqueue(Noop()) for _ in range(4)]) == {"succeeded": 4}
    fleet.check()
