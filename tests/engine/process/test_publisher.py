"""The publisher of hints: what it holds open."""

from uuid import uuid4

import redis

from domain.jobs.job import Hint
from engine.process.publisher import Publisher
from sandbox.servers.valkey_server import ValkeyServer
from tests.waiting import eventually


def test_a_closed_publisher_leaves_no_connection_open(own_valkey: ValkeyServer) -> None:
    with redis.Redis.from_url(own_valkey.url()) as operator:

        def others() -> int:
            return len(operator.client_list()) - 1

        publisher = Publisher(own_valkey.url())
        assert publisher.publish([Hint(uuid4(), "probe.run", "default")])
        assert others() > 0
        publisher.close()
        eventually(lambda: others() == 0, describe="the connections to end")
