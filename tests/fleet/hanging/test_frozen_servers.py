"""Servers that are frozen for longer than a worker may stand still: none ends by itself, and the work goes on.

One test, for it takes most of a minute, in which nothing but time passes.
"""

import time
from contextlib import ExitStack

from domain.jobs.monitoring.liveness import STOP_MARGIN_S, TURN_LIMIT_S
from engine.worker.watchdog import LOOKS_BEFORE_END
from tests.cluster.nodes import WorkerNode
from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet, wait_until_ready
from tests.fleet.hanging.networks import put_between
from tests.fleet.operators.test_task_events import WITH_HEARTBEAT
from tests.waiting import eventually

FROZEN_S = TURN_LIMIT_S + LOOKS_BEFORE_END + 3
GRACE_S = 5.0
"""As `networks.SLOW` says."""


def freeze(workers: list[WorkerNode], doomed: WorkerNode) -> None:
    """Let the broker be frozen for long, while a worker is told to stop, and another network's database is too."""
    began = time.monotonic()
    doomed.kill("SIGTERM")
    eventually(lambda: not doomed.alive, within=GRACE_S + STOP_MARGIN_S, describe="the end of the stopped worker")
    eventually(lambda: time.monotonic() - began > FROZEN_S, within=FROZEN_S + 5, describe=f"{FROZEN_S:.0f} s to pass")
    assert doomed.exit_status == 0, "its watchdog had to end it"
    assert all(worker.alive for worker in workers), [worker.logs()[-2000:] for worker in workers if not worker.alive]


def test_a_frozen_valkey_and_a_frozen_postgresql_end_no_worker(fleet: Fleet) -> None:
    with ExitStack() as stack:
        network, other = put_between(fleet, stack), put_between(fleet, stack)
        # As deployed, with events of the workers: Celery would send one again and again, and hold the loop meanwhile.
        workers = network.workers("threads", "prefork", options=WITH_HEARTBEAT)
        doomed = fleet.worker("doomed", settings=network.environment, options=WITH_HEARTBEAT)
        apart = fleet.worker("apart", settings=other.environment)
        wait_until_ready(doomed, apart)
        network.broker.stall()
        other.database.stall()
        freeze([*workers, apart], doomed)
        network.broker.resume()
        other.database.resume()
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert all("broker_did_not_answer" in worker.logs() for worker in workers)
        # Its loop has nothing to ask meanwhile; its lease and its relay have.
        assert any(word in apart.logs() for word in ("lease_not_renewed", "relay_interrupted", "ledger_unavailable"))
        assert all(worker.alive for worker in (*workers, apart))
        fleet.check()
