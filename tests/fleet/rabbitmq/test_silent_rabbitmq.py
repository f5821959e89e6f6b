"""All connections to RabbitMQ are lost without a word: the work goes on within 30 s."""

from contextlib import ExitStack

from tests.doubles.probe_jobs import Visit
from tests.fleet.fleet import Fleet
from tests.fleet.hanging.networks import put_between
from tests.fleet.hanging.test_silence import FLEETS


@FLEETS
def test_silent_loss_of_every_connection_to_rabbitmq(fleet_on_rabbitmq: Fleet, pools: tuple[str, ...]) -> None:
    with ExitStack() as stack:
        network = put_between(fleet_on_rabbitmq, stack)
        workers = network.workers(*pools)
        assert network.broker.silence() > len(workers)
        network.work(*[Visit(then="transaction") for _ in range(8)])
        assert all(worker.alive for worker in workers)
