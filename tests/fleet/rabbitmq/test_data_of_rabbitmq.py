"""RabbitMQ as the broker, where it is installed: quorum queues, and a mark that is gone with its data."""

from uuid import uuid4

import pytest
from kombu import Connection

from domain.jobs.queues import Queue
from engine.relay.broker import Broker, BrokerAway
from engine.runtime import Runtime
from sandbox.servers.rabbitmq_server import RabbitServer
from tests.doubles.factories import make_settings


def test_the_epoch_stays_until_the_data_is_gone(rabbit: RabbitServer) -> None:
    first, second, third = (str(uuid4()) for _ in range(3))
    broker = Broker(Runtime(make_settings(broker_url=rabbit.url())))
    assert broker.read_or_set_epoch(first, None) == first
    assert broker.read_or_set_epoch(second, first) == first
    with Connection(rabbit.url()) as connection:
        for queue in Queue:
            # Whoever publishes before a worker is there must find a queue.
            connection.default_channel.queue_declare(queue.value, passive=True)
    rabbit.kill(data=True)
    with pytest.raises(BrokerAway):
        broker.read_or_set_epoch(second, first)
    rabbit.start()
    assert broker.read_or_set_epoch(second, first) == first
    rabbit.wipe()
    with pytest.raises(BrokerAway):
        broker.read_or_set_epoch(second, first)
    assert broker.read_or_set_epoch(third, first) == third
    broker.close()
