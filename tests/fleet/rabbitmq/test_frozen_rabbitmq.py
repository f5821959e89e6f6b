"""RabbitMQ that is frozen for longer than a worker may stand still: none ends by itself, and the work goes on."""

from contextlib import ExitStack

import pytest

from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet
from tests.fleet.hanging.networks import put_between
from tests.fleet.hanging.test_frozen_servers import freeze


@pytest.mark.parametrize("pools", [("threads", "prefork")], ids="+".join)
def test_a_frozen_rabbitmq_ends_no_worker(fleet_on_rabbitmq: Fleet, pools: tuple[str, ...]) -> None:
    with ExitStack() as stack:
        network = put_between(fleet_on_rabbitmq, stack)
        workers = network.workers(*pools)
        doomed = fleet_on_rabbitmq.worker("doomed", settings=network.environment)
        doomed.ready()
        network.broker.stall()
        freeze(workers, doomed)
        network.broker.resume()
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert all(worker.alive for worker in workers)
