"""A publisher's channel keeps one client of redis-py, until its connections are given up."""

import os
from uuid import uuid4

import redis

from domain.jobs.job import Hint
from engine.broker.publisher import Publisher, connect_to
from sandbox.servers.valkey_server import ValkeyServer


def test_a_channel_asks_by_one_client(broker_url: str) -> None:
    with connect_to(broker_url) as connection:
        channel = connection.channel()
        with channel.conn_or_acquire() as first, channel.conn_or_acquire() as second:
            assert first is second
        with channel.conn_or_acquire(first) as given:
            assert given is first


def test_a_channel_whose_connections_were_given_up_asks_by_another(broker_url: str) -> None:
    with connect_to(broker_url) as connection:
        channel = connection.channel()
        with channel.conn_or_acquire() as before:
            before.ping()
        channel._after_fork()  # noqa: SLF001 - as kombu calls it in a child process
        with channel.conn_or_acquire() as after:
            assert after is not before
            assert after.connection_pool is channel.pool
            assert after.ping()


def test_two_channels_have_clients_of_their_own(broker_url: str) -> None:
    with connect_to(broker_url) as connection:
        one, two = connection.channel(), connection.channel()
        with one.conn_or_acquire() as first, two.conn_or_acquire() as second:
            assert first.connection_pool is not second.connection_pool


def test_a_publisher_that_lost_its_connections_publishes_again(own_valkey: ValkeyServer) -> None:
    publisher = Publisher(own_valkey.url())
    hint = Hint(uuid4(), "probe.run", "default")
    with redis.Redis.from_url(own_valkey.url()) as operator:
        assert publisher.publish([hint])
        operator.client_kill_filter(_type="normal", skipme=True)
        sent = [publisher.publish([hint]) for _ in range(3)]
        assert sent[-1]
        assert operator.llen("default") == 1 + sent.count(True)
    publisher.close()


def test_a_child_process_publishes_by_connections_of_its_own(broker_url: str) -> None:
    publisher = Publisher(broker_url)
    hint = Hint(uuid4(), "probe.run", "default")
    assert publisher.publish([hint])
    child = os.fork()
    if child == 0:
        os._exit(0 if publisher.publish([hint]) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert publisher.publish([hint])
    with redis.Redis.from_url(broker_url) as operator:
        assert operator.llen("default") == 3
    publisher.close()
