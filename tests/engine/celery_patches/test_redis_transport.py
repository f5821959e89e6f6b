"""The fleet's Redis transport against a real broker: how much it takes, what it guards, and what it refuses."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import Connection, Consumer, Exchange
from kombu import Queue as BrokerQueue
from psycopg import Connection as Database

from domain.jobs.job import Hint
from engine.broker.publisher import Publisher
from engine.celery_patches.redis_transport import AT_ONCE
from engine.runtime import Runtime
from engine.worker.consumer import FleetConsumer
from sandbox.servers.valkey_server import ValkeyServer

QUEUE = BrokerQueue("default", Exchange(""), routing_key="default")
GUARDED = "unacked"
"""Where kombu's transport keeps what is not acknowledged."""

WAIT_S = 0.1
"""How long to listen to a queue that should bring nothing more."""


@dataclass
class Worker:
    """A consumer of the queue, as a worker command has one; `messages` are those it has received."""

    connection: Any
    channel: Any
    messages: list[Any] = field(default_factory=list)

    def ask_for(self, messages: int) -> None:
        """Ask as the worker's consumer does."""
        consumer: Any = SimpleNamespace(task_consumer=SimpleNamespace(channel=self.channel))
        FleetConsumer.ask_for(consumer, messages)

    def receive(self) -> list[str]:
        """Listen until nothing more comes; the ids of what came."""
        before = len(self.messages)
        for _ in range(1000):
            try:
                self.connection.drain_events(timeout=WAIT_S)
            except TimeoutError:
                break
        return [message.headers["id"] for message in self.messages[before:]]

    def receive_once(self) -> list[str]:
        """What one reply of the broker brings."""
        before = len(self.messages)
        self.connection.drain_events(timeout=10)
        return [message.headers["id"] for message in self.messages[before:]]

    def die(self) -> None:
        """End without a word to the broker, as a process that is killed or that has lost its connection."""
        self.channel.do_restore = False
        self.connection.close()


@contextmanager
def worker(broker_url: str, **options: Any) -> Iterator[Worker]:  # noqa: ANN401 - kombu's options
    transport = "engine.celery_patches.redis_transport:Transport"
    with Connection(broker_url, transport=transport, transport_options=options) as connection:
        made = Worker(connection, connection.channel())
        consumer = Consumer(made.channel, [QUEUE], accept=["json"], on_message=made.messages.append)
        made.ask_for(0)
        consumer.consume()
        yield made


def hint(broker_url: str, count: int) -> list[str]:
    """Put hints into the queue; returns their ids."""
    publisher = Publisher(broker_url)
    job_ids = [UUID(int=number) for number in range(1, count + 1)]
    assert publisher.publish([Hint(job_id, "probe.run", "default") for job_id in job_ids], bundle=1)
    publisher.close()
    return [str(job_id) for job_id in job_ids]


def send_foreign(broker_url: str, headers: object = None, **options: Any) -> str:  # noqa: ANN401 - kombu's options
    """Put a message of somebody else's into the queue; returns its id."""
    name = str(uuid4())
    with Connection(broker_url, transport_options=options) as connection:
        connection.Producer().publish(
            [[], {}, {}], exchange="", routing_key="default", headers=headers or {"id": name, "task": "probe.run"}
        )
    return name


@pytest.fixture
def broker(broker_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


@given(st.integers(-5, 5000))
def test_where_the_broker_counts_itself_the_prefetch_count_is_a_power_of_two_and_enough(messages: int) -> None:
    """Each change is a round trip in AMQP, and 0 would mean without bound."""
    consumer: Any = SimpleNamespace(task_consumer=SimpleNamespace(channel=object()), qos=SimpleNamespace(value=None))
    FleetConsumer.ask_for(consumer, messages)
    count = consumer.qos.value
    assert count.bit_count() == 1
    assert max(1, messages) <= count <= max(1, 2 * messages - 1)


def test_no_more_comes_than_was_asked_for(broker_url: str, broker: redis.Redis) -> None:
    waiting = hint(broker_url, 40)
    with worker(broker_url) as one:
        assert one.receive() == []
        for appetite, expected in ((1, 1), (7, 6), (7, 0), (3, 0), (8, 1)):
            one.ask_for(appetite)
            assert len(one.receive()) == expected, f"when {appetite} were asked for"
        for message in one.messages[:5]:
            message.ack()
        assert len(one.receive()) == 5
        one.messages[5].reject()
        assert len(one.receive()) == 1
        assert [message.headers["id"] for message in one.messages] == waiting[:14]
        assert broker.llen("default") == 40 - 14


def test_a_message_that_the_broker_hands_over_too_late_waits_until_it_is_asked_for(broker_url: str) -> None:
    """A consumer that listens cannot take its question back; the answer stays on the wire."""
    with worker(broker_url) as one:
        one.ask_for(5)
        assert one.receive() == []
        one.ask_for(0)
        waiting = hint(broker_url, 3)
        assert one.receive() == []
        one.ask_for(2)
        assert one.receive() == waiting[:2]


def test_what_waits_is_taken_in_one_round_trip(own_valkey: ValkeyServer) -> None:
    url = own_valkey.url()
    waiting = hint(url, AT_ONCE + 50)
    with worker(url) as one, redis.Redis.from_url(url) as client:
        one.ask_for(20)
        client.config_resetstat()
        assert one.receive_once() == waiting[:20]
        assert commands(client) == {"blmpop": 1}
        one.ask_for(1000)
        assert one.receive_once() == waiting[20 : 20 + AT_ONCE]
        assert one.receive() == waiting[20 + AT_ONCE :]


def test_keys_with_a_prefix_are_found(broker_url: str) -> None:
    waiting = [send_foreign(broker_url, global_keyprefix="ours:") for _ in range(3)]
    send_foreign(broker_url, global_keyprefix="theirs:")
    with worker(broker_url, global_keyprefix="ours:") as one:
        one.ask_for(10)
        assert one.receive() == waiting


def commands(client: redis.Redis) -> dict[str, int]:
    """How often each command was run that moves messages or guards them."""
    stats: dict[str, Any] = client.info("commandstats")
    counted = {name.removeprefix("cmdstat_"): figures["calls"] for name, figures in stats.items()}
    return {
        name: counted[name] for name in ("blmpop", "brpop", "rpop", "zadd", "hset", "zrem", "hdel") if name in counted
    }


def test_a_hint_costs_the_broker_nothing_but_its_delivery(own_valkey: ValkeyServer) -> None:
    url = own_valkey.url()
    hint(url, 10)
    with worker(url) as one, redis.Redis.from_url(url) as client:
        client.config_resetstat()
        one.ask_for(10)
        assert len(one.receive_once()) == 10
        assert not client.exists(GUARDED)
        for message in one.messages:
            message.ack()
        assert commands(client) == {"blmpop": 1}


def test_a_hint_is_a_task_message_of_celery_s_without_arguments(broker_url: str) -> None:
    (name,) = hint(broker_url, 1)
    with worker(broker_url) as one:
        one.ask_for(1)
        assert one.receive() == [name]
        (message,) = one.messages
        assert message.payload == [[], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
        message.ack()


def test_a_foreign_message_is_guarded_until_it_is_acknowledged(broker_url: str, broker: redis.Redis) -> None:
    hint(broker_url, 1)
    first, second = send_foreign(broker_url), send_foreign(broker_url)
    with worker(broker_url) as one:
        one.ask_for(10)
        assert one.receive()[1:] == [first, second]
        assert broker.hlen(GUARDED) == 2
        one.messages[1].ack()
        assert [second in str(kept) for kept in broker.hvals(GUARDED)] == [True]
        one.messages[2].reject()
        assert not broker.exists(GUARDED)


def test_after_a_lost_connection_a_foreign_message_comes_back_and_a_hint_does_not(
    broker_url: str, broker: redis.Redis
) -> None:
    (lost,) = hint(broker_url, 1)
    foreign, settled = send_foreign(broker_url), send_foreign(broker_url)
    with worker(broker_url) as one:
        one.ask_for(10)
        assert one.receive() == [lost, foreign, settled]
        one.messages[2].ack()
        one.die()
        one.messages[0].requeue()
        one.messages[1].ack()
        assert (broker.llen("default"), broker.hlen(GUARDED)) == (0, 1)
    with worker(broker_url, visibility_timeout=0) as another:
        another.channel.qos.restore_visible()
        another.ask_for(10)
        assert another.receive() == [foreign]


def test_a_worker_that_closes_its_connection_leaves_all_that_was_open(broker_url: str, broker: redis.Redis) -> None:
    hints = hint(broker_url, 5)
    foreign = send_foreign(broker_url)
    with worker(broker_url) as one:
        one.ask_for(10)
        assert one.receive() == [*hints, foreign]
        one.messages[0].ack()
    assert not broker.exists(GUARDED)
    with worker(broker_url) as another:
        another.ask_for(10)
        assert sorted(another.receive()) == sorted([*hints[1:], foreign])


def test_what_is_rejected_to_come_again_comes_again(broker_url: str) -> None:
    names = [*hint(broker_url, 1), send_foreign(broker_url)]
    with worker(broker_url) as one:
        one.ask_for(2)
        assert one.receive() == names
        for message in tuple(one.messages):
            message.requeue()
        assert sorted(one.receive()) == sorted(names)


MISSHAPEN: dict[str, tuple[str | bytes, str]] = {
    "no JSON": (b"{", "envelope"),
    "no text": (b"\xff\xfe", "envelope"),
    "a list": ("[]", "envelope"),
    "nested without end": ("[" * 100_000, "envelope"),
    "no properties": (json.dumps({"body": "", "headers": {}}), "properties.delivery_tag"),
    "a number as properties": (json.dumps({"body": "", "headers": {}, "properties": 1}), "properties"),
}


@pytest.mark.parametrize(("envelope", "field"), MISSHAPEN.values(), ids=MISSHAPEN)
def test_an_envelope_of_no_shape_is_refused_and_the_others_are_delivered(
    process: Runtime, database: Database[Any], broker: redis.Redis, envelope: str | bytes, field: str
) -> None:
    url = process.settings.broker_url.get_secret_value()
    hints = hint(url, 3)
    one_hint, *more = broker.lrange("default", 0, -1)[::-1]
    broker.delete("default")
    broker.lpush("default", envelope, one_hint, envelope, *more, envelope)
    with worker(url) as one:
        one.ask_for(10)
        assert one.receive_once() == hints
        assert one.channel.qos.can_consume_max_estimate() == 7, "what was refused counts as open"
    rows = database.execute("select field, reason from refused_messages").fetchall()
    assert [refused for refused, _ in rows] == [field] * 3
    assert all(reason for _, reason in rows)


def test_a_message_with_the_tag_of_another_takes_nothing_away(broker_url: str, broker: redis.Redis) -> None:
    """What is not acknowledged is kept under its tag, which its sender would choose."""
    names = [send_foreign(broker_url) for _ in range(2)]
    sent = [json.loads(item) for item in broker.lrange("default", 0, -1)]
    sent[1]["properties"]["delivery_tag"] = sent[0]["properties"]["delivery_tag"]
    broker.delete("default")
    broker.rpush("default", *(json.dumps(one) for one in sent))
    with worker(broker_url) as one:
        one.ask_for(2)
        assert one.receive() == names
        assert broker.hlen(GUARDED) == 2
        one.messages[0].ack()
        assert [names[1] in str(kept) for kept in broker.hvals(GUARDED)] == [True]


def test_a_message_comes_back_to_the_queue_it_came_from(broker_url: str, broker: redis.Redis) -> None:
    name = send_foreign(broker_url)
    sent = json.loads(broker.lindex("default", 0) or "")
    sent["properties"]["delivery_info"] = {"exchange": "nowhere", "routing_key": "elsewhere"}
    broker.delete("default")
    broker.rpush("default", json.dumps(sent))
    with worker(broker_url) as one:
        one.ask_for(1)
        assert one.receive() == [name]
        one.messages[0].requeue()
        assert one.receive() == [name]


def test_a_compressed_body_is_unpacked_by_nobody_on_its_way(broker_url: str) -> None:
    with Connection(broker_url) as connection:
        connection.Producer().publish(
            [[], {}, {}],
            exchange="",
            routing_key="default",
            headers={"id": "a", "task": "probe.run"},
            compression="zlib",
        )
    with worker(broker_url) as one:
        one.ask_for(1)
        assert one.receive() == ["a"]
        (message,) = one.messages
        assert message.headers["compression"] == "application/x-gzip"
        assert json.loads(zlib.decompress(message.body)) == [[], {}, {}]
