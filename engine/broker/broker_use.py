"""Uses a broker once, as workers do all day: one that answers may still take no writes, or not from this login."""

from typing import Any
from uuid import uuid4

from kombu import Connection, Exchange, Producer
from kombu import Queue as BrokerQueue
from redis.exceptions import ResponseError

from domain.diagnosis import Diagnosis
from engine.broker.connection_errors import CONNECTION_ERRORS
from engine.broker.publisher import connect_to
from observability.connection_diagnosis import diagnosis_of

OWN = "postroom:doctor"
"""What the names of all that is written begin with."""

KEPT_S = 60
"""How long the broker keeps what could not be cleaned up, because it refused to or the process died."""

SET_EXPIRY = "return redis.call('expire', KEYS[1], ARGV[1])"

TOO_OLD = Diagnosis("does not know BLMPOP, by which workers take messages", "use Valkey, or Redis 7 or newer")
LOST = Diagnosis("loses what it takes: a message that was sent did not arrive", "see the broker's log and policies")


class MessageRefused(Exception):
    """RabbitMQ takes no messages now; the words are the client library's."""


def diagnose_use(url: str, within_s: float) -> Diagnosis | None:
    """Why workers could not use this broker, which gets `within_s` for each answer; None when they could.

    What is written has names of its own, and is gone afterwards.
    """
    name = f"{OWN}:{uuid4()}"
    try:
        with connect_to(url, within_s) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=within_s)
            if connection.transport.driver_type == "redis":
                return _use_redis(connection, name)
            return _use_queue(connection, name)
    except CONNECTION_ERRORS as error:
        return diagnosis_of(error)


def _use_redis(connection: Connection, name: str) -> Diagnosis | None:
    """A key that expires as the relay's, a script, a word to all workers, and a message as kombu sends it."""
    channel = connection.default_channel
    client = channel.client
    client.set(name, "", ex=KEPT_S)
    client.eval(SET_EXPIRY, 1, name, KEPT_S)
    client.delete(name)
    to_all = Exchange(f"{name}:all", "fanout", durable=False)
    producer = Producer(channel)
    producer.publish("", exchange=to_all, declare=[to_all], retry=False)
    producer.publish("", exchange="", routing_key=name, retry=False)
    client.expire(name, KEPT_S)
    try:
        taken = client.execute_command("BLMPOP", 1, 1, name, "RIGHT", "COUNT", 1)
    except ResponseError as error:
        if "unknown command" not in str(error):
            raise
        client.delete(name)
        return TOO_OLD
    return None if taken else LOST


def _use_queue(connection: Connection, name: str) -> Diagnosis | None:
    """A queue that goes with the connection, and a message through it.

    RabbitMQ takes no message while its memory or disk is full. It says so to a connection that has sent one, and
    leaves whatever else comes over that connection unread.
    """
    channel = connection.default_channel
    channel.connection.on_blocked = _raise_blocked
    options = {"durable": False, "exclusive": True, "auto_delete": True, "expires": KEPT_S}
    queue = BrokerQueue(name, Exchange(""), routing_key=name, **options)(channel)
    try:
        queue.declare()
        Producer(channel).publish("", exchange="", routing_key=name, retry=False)
        taken = queue.get(no_ack=True)
        queue.delete()
    except MessageRefused as refused:
        connection.collect()  # to close it in good order would be one more question that nobody reads
        return Diagnosis(
            f"takes no messages: {refused}", "see `rabbitmq-diagnostics alarms`: its memory or disk is full"
        )
    return None if taken else LOST


def _raise_blocked(reason: Any) -> None:  # noqa: ANN401 - py-amqp ships no types
    raise MessageRefused(str(reason))
