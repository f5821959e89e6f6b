"""A broker that takes connections and answers nothing: one question costs its time limit, the next ones nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import Connection, Exchange
from kombu import Queue as BrokerQueue
from sqlalchemy.engine import make_url

from domain.jobs.job import Hint
from engine.app import app
from engine.broker.broker_silence import AGAIN_S, BrokerSilence
from engine.broker.publisher import Publisher
from engine.celery_patches.redis_connections import bounded
from sandbox.servers.tcp_proxy import TcpProxy
from tests.fleet.hanging.networks import at_port

LIMIT_S = 0.3
"""For one answer of the broker, in these tests."""

FANOUT = BrokerQueue("replies", Exchange("replies", "fanout"), auto_delete=True)


@pytest.fixture
def proxy(broker_url: str) -> Iterator[TcpProxy]:
    with TcpProxy(make_url(broker_url).port or 0) as made:
        yield made


@contextmanager
def lasting_at_most(seconds: float) -> Iterator[None]:
    """Fail when the block takes longer."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"took {took:.2f} s"


def test_a_consumers_questions_cost_one_time_limit_in_all(proxy: TcpProxy, broker_url: str) -> None:
    """As the event loop's timers ask, and as Celery closes what it had opened: channel after channel."""
    connection = Connection(
        at_port(broker_url, proxy.port),
        transport="engine.celery_patches.redis_transport:Transport",
        transport_options={"socket_timeout": LIMIT_S, "socket_connect_timeout": LIMIT_S, "health_check_interval": 5},
    )
    channels = [connection.channel() for _ in range(4)]
    for channel in channels:
        FANOUT(channel).declare()
    proxy.stall()
    with lasting_at_most(2 * LIMIT_S):
        for channel in channels:
            with pytest.raises(connection.connection_errors):
                channel.client.ping()
        connection.transport.cycle.maybe_restore_messages()
        for channel in channels:
            connection.maybe_close_channel(channel)
    proxy.resume()
    connection.release()


def test_an_event_of_a_worker_is_not_sent_again_and_again(proxy: TcpProxy, broker_url: str) -> None:
    """Celery sends heartbeats from a timer of the event loop, which would stand still for as long as the broker."""
    connection = Connection(
        at_port(broker_url, proxy.port),
        transport="engine.celery_patches.redis_transport:Transport",
        transport_options={"socket_timeout": LIMIT_S, "socket_connect_timeout": LIMIT_S},
    )
    dispatcher = app.events.Dispatcher(connection, hostname="worker@here", groups=["worker"])
    dispatcher.send("worker-heartbeat", retry=True)
    proxy.stall()
    with lasting_at_most(2 * LIMIT_S), pytest.raises(connection.connection_errors):
        dispatcher.send("worker-heartbeat", retry=True)
    dispatcher.send("worker-offline", retry=False)
    assert dispatcher.buffer_while_offline
    proxy.resume()
    connection.release()


def test_half_a_message_between_workers_is_not_waited_for_without_end(proxy: TcpProxy) -> None:
    """redis-py reads them without any limit."""
    one = bounded(redis.Connection, BrokerSilence())(host="127.0.0.1", port=proxy.port, socket_timeout=LIMIT_S)
    one.connect()
    proxy.stall()
    one.send_command("PING", check_health=False)
    with lasting_at_most(2 * LIMIT_S), pytest.raises(redis.TimeoutError):
        one.read_response(timeout=None)
    one.disconnect()


def test_hints_are_not_published_one_after_the_other_into_silence(proxy: TcpProxy, broker_url: str) -> None:
    """Each costs its time; a loop that settles many jobs in a row would stand still."""
    publisher = Publisher(at_port(broker_url, proxy.port), answer_within_s=LIMIT_S)
    hints = [Hint(UUID(int=1), "probe.run", "default")]
    assert publisher.publish(hints)
    proxy.stall()
    with lasting_at_most(3 * LIMIT_S):
        assert [publisher.publish(hints) for _ in range(10)] == [False] * 10
    assert not publisher.may_publish
    proxy.resume()
    publisher.close()


def test_a_refused_connection_is_tried_again_at_once(broker_url: str) -> None:
    """It costs nothing, and a broker that has just come back must not wait."""
    with TcpProxy(make_url(broker_url).port or 0) as gone:
        publisher = Publisher(at_port(broker_url, gone.port))
    assert not publisher.publish([Hint(UUID(int=1), "probe.run", "default")])
    assert publisher.may_publish
    publisher.close()


@given(st.lists(st.floats(0, 20), max_size=10))
def test_a_silence_lasts_for_its_time_after_the_last_unanswered_question(pauses: list[float]) -> None:
    now = 100.0
    silence = BrokerSilence(lambda: now)
    assert not silence.lasts
    for pause in pauses:
        silence.begin()
        assert silence.lasts
        now += pause
        assert silence.lasts == (pause < AGAIN_S)
