"""What the relay learns from brokers: how much each queue holds, also from those that only declare."""

from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from kombu import Connection
from pydantic import SecretStr
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

from domain.jobs.job import Hint
from engine.relay.broker import Broker, BrokerAway
from engine.runtime import Runtime
from sandbox.servers.free_port import find_free_port
from sandbox.servers.tcp_proxy import TcpProxy
from sandbox.servers.valkey_server import ValkeyServer
from settings import Settings


def hints(count: int, queue: str) -> list[Hint]:
    return [Hint(uuid4(), "probe.run", queue) for _ in range(count)]


def test_the_depth_of_each_queue_in_redis(settings: Settings) -> None:
    process = Runtime(settings)
    process.publisher.publish([*hints(3, "default"), *hints(1, "exports")], bundle=1)
    assert Broker(process).depths(["default", "exports", "critical"]) == {"default": 3, "exports": 1, "critical": 0}
    process.close()


def test_the_depth_of_each_queue_where_it_must_be_declared(settings: Settings) -> None:
    """The same verb of the protocol that RabbitMQ answers; a queue that nobody has declared is empty."""
    in_memory = settings.model_copy(update={"broker_url": SecretStr("memory://")})  # as settings, it is refused
    name = f"queue-{UUID(int=1)}"
    with Connection("memory://") as connection:
        queue = connection.SimpleQueue(name)
        for _ in range(2):
            queue.put({})
        broker = Broker(Runtime(in_memory))
        assert broker.depths([name, "nobody"]) == {name: 2, "nobody": 0}
        queue.clear()
        assert broker.depths([name]) == {name: 0}


def test_a_mistake_of_ours_is_logged_in_full_and_not_as_a_broker_that_is_away(settings: Settings) -> None:
    """The relay goes on with its turn, and asks again."""
    broker = Broker(Runtime(settings))
    mistaken: Any = object()
    with capture_logs() as logged:
        for _ in range(2):
            with pytest.raises(BrokerAway):
                broker.depths(mistaken)
        assert broker.depths(["default"]) == {"default": 0}
    broker.close()
    said = [(each["event"], each["log_level"]) for each in logged]
    assert said == [("broker_not_asked", "error"), ("recovered", "warning")]
    assert (logged[0]["error"], type(logged[0]["exc_info"])) == ("TypeError", TypeError)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "amqp://127.0.0.1:1//"])
def test_a_broker_that_is_away_says_so(url: str) -> None:
    broker = Broker(Runtime(Settings(broker_url=SecretStr(url))))
    for _ in range(2):
        with pytest.raises(BrokerAway):
            broker.depths(["default"])


def test_a_broker_that_is_away_is_logged_once_and_so_is_its_return(settings: Settings) -> None:
    """The relay asks several times a second."""
    real = make_url(settings.broker_url.get_secret_value())
    with TcpProxy(real.port or 0) as proxy:
        through = real.set(port=proxy.port).render_as_string(hide_password=False)
        broker = Broker(Runtime(settings.model_copy(update={"broker_url": SecretStr(through)})))
        with capture_logs() as logged:
            assert broker.depths(["default"]) == {"default": 0}
            upstream, proxy.upstream = proxy.upstream, find_free_port()
            proxy.cut()
            for _ in range(5):
                with pytest.raises(BrokerAway):
                    broker.depths(["default"])
            proxy.upstream = upstream
            for _ in range(2):
                broker.depths(["default"])
        broker.close()
    assert [line["event"] for line in logged] == ["broker_unavailable", "recovered"]


def test_a_broker_that_takes_no_writes_is_logged_once_although_it_tells_its_depths(
    settings: Settings, own_valkey: ValkeyServer
) -> None:
    """The relay asks both in each turn."""
    broker = Broker(Runtime(settings.model_copy(update={"broker_url": SecretStr(own_valkey.url())})))
    with capture_logs() as logged, redis.Redis.from_url(own_valkey.url()) as server:
        server.config_set("maxmemory", "1")
        for _ in range(5):
            with pytest.raises(BrokerAway, match="its memory is full"):
                broker.read_or_set_epoch("a mark", None)
            broker.depths(["default"])
        server.config_set("maxmemory", "0")
        for _ in range(2):
            assert broker.read_or_set_epoch("a mark", None) == "a mark"
            broker.depths(["default"])
    broker.close()
    assert [(line["event"], line["asked"]) for line in logged] == [
        ("broker_unavailable", "epoch"),
        ("recovered", "epoch"),
    ]


def test_a_broker_that_left_a_question_unanswered_is_not_asked_again_for_a_moment(settings: Settings) -> None:
    """The relay would be at nothing else, and lose its leadership."""
    real = make_url(settings.broker_url.get_secret_value())
    with TcpProxy(real.port or 0) as proxy:
        through = real.set(port=proxy.port).render_as_string(hide_password=False)
        broker = Broker(Runtime(settings.model_copy(update={"broker_url": SecretStr(through)})))
        assert broker.depths(["default"]) == {"default": 0}
        proxy.stall()
        with pytest.raises(BrokerAway):
            broker.depths(["default"])
        proxy.resume()
        # It would answer by now, and is not asked.
        with pytest.raises(BrokerAway, match=r"^it did not answer$"):
            broker.depths(["default"])
        broker.close()
