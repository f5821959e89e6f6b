"""The publisher of hints: what it holds open."""

from typing import Any
from uuid import uuid4

import redis
from structlog.testing import capture_logs

from domain.jobs.job import Hint
from engine.broker.publisher import Publisher
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


def test_a_mistake_of_ours_is_logged_as_what_it_is_and_not_raised(own_valkey: ValkeyServer) -> None:
    """The jobs are committed by then. It says nothing of the broker or of its URL."""
    publisher = Publisher(own_valkey.url())
    no_name: Any = object()
    with capture_logs() as logged:
        assert not publisher.publish([Hint(uuid4(), "probe.run", no_name)])
        assert publisher.publish([Hint(uuid4(), "probe.run", "default")])
    publisher.close()
    said = [(each["event"], each["log_level"], each["error"], "cause" in each) for each in logged]
    assert said == [("hints_not_published", "error", "TypeError", False)]
