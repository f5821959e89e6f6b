"""A worker that waits for its first connection to the broker goes on waiting, whatever happens to its children."""

from sandbox.servers.valkey_server import ValkeyServer
from tests.doubles.probe_jobs import Noop
from tests.fleet.fleet import Fleet, wait_until_ready
from tests.waiting import eventually


def test_workers_without_a_broker_yet_outlive_their_children(
    fleet_with_own_broker: Fleet, own_valkey: ValkeyServer
) -> None:
    fleet = fleet_with_own_broker
    own_valkey.stop()
    workers = [fleet.worker(pool, pool=pool) for pool in ("threads", "prefork")]
    for worker in workers:
        worker.wait_for_log("broker_unavailable")
    for child in [child for worker in workers for child in worker.children]:
        child.kill()
    seen = [worker.logs().count("broker_unavailable") for worker in workers]
    eventually(
        lambda: all(worker.logs().count("broker_unavailable") > n + 1 for worker, n in zip(workers, seen, strict=True)),
        within=30,
        describe="further tries",
    )
    own_valkey.start()
    wait_until_ready(*workers)
    assert fleet.wait_for_end([fleet.enqueue(Noop()) for _ in range(4)]) == {"succeeded": 4}
    fleet.check()
