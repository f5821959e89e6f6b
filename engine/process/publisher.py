"""Publishes hints and demand; what the broker does not take, the relay sends later."""

from collections.abc import Mapping, Sequence

import structlog
from kombu import Connection
from kombu.exceptions import BatchPublishError, LimitExceeded, OperationalError
from kombu.pools import ProducerPool

from domain.jobs.job import Hint
from domain.scheduling.backlog_demand import Demand
from engine.process.hints import BODY, Message, bundles, demand_message, hint_message
from engine.process.transport_names import transport_of

POOL_SIZE = 10
"""Connections to the broker per process, at most: publishing takes microseconds, so few are ever needed."""

TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 5,
    # kombu's own default is to wait for ever: a publish would hang with its worker slot.
    "socket_timeout": 10,
    "health_check_interval": 10,
    # The same for RabbitMQ, whose answers our transport bounds. Without its confirmations, which cost a round trip
    # each: a hint may get lost.
    "write_timeout": 10,
    # And no waiting for a broker that is away: kombu would hold the caller for its six seconds each time.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}

AWAY = (BatchPublishError, LimitExceeded, OperationalError)
"""What kombu raises when it cannot publish, besides the errors that each transport lists."""

log = structlog.get_logger(__name__)


def connect_to(broker_url: str) -> Connection:
    """A connection to the broker on which no wait lasts without end; it connects with its first use."""
    transport = transport_of(broker_url)
    return Connection(broker_url, transport=transport, transport_options=TRANSPORT_OPTIONS, connect_timeout=5)


class Publisher:
    """Sends hints to the broker; what it cannot send, the relay sends later."""

    def __init__(self, broker_url: str) -> None:
        """Prepare a pool of connections of this process's own; nothing connects yet."""
        self._connection = connect_to(broker_url)
        self._connections = self._connection.Pool(limit=POOL_SIZE)
        self._producers = ProducerPool(self._connections, limit=POOL_SIZE)

    def close(self) -> None:
        """Close this process's connections to the broker."""
        self._producers.force_close_all()
        self._connections.force_close_all()  # which the pool of producers leaves open
        self._connection.release()

    def publish(self, hints: Sequence[Hint]) -> bool:
        """Send hints in one pipelined batch; false when the broker could not take them all. Never raises for it."""
        return self._send([(bundle[0].queue, hint_message(bundle)) for bundle in bundles(hints)])

    def publish_demand(self, queue: str, parts: Sequence[Demand]) -> bool:
        """Send demand, a message for each part; false when the broker could not take them all. Never raises for it."""
        return self._send([(queue, demand_message(part)) for part in parts])

    def reply(self, queue: str, correlation_id: str, document: Mapping[str, object]) -> bool:
        """Send JSON to a client's own queue; false when the broker could not take it. Never raises for it."""
        try:
            with self._producers.acquire(block=True, timeout=10) as producer:
                producer.publish(
                    document,
                    routing_key=queue,
                    exchange="",
                    serializer="json",
                    correlation_id=correlation_id,
                    delivery_mode=1,
                    retry=False,
                )
        except (*AWAY, *self._connection.connection_errors, *self._connection.channel_errors) as error:
            log.warning("reply_not_sent", error=type(error).__name__)
            return False
        return True

    def _send(self, messages: Sequence[tuple[str, Message]]) -> bool:
        if not messages:
            return True
        try:
            with self._producers.acquire(block=True, timeout=10) as producer, producer.batch():
                for queue, message in messages:
                    producer.publish(
                        BODY,
                        routing_key=queue,
                        exchange="",
                        headers=message,
                        content_type="application/json",
                        content_encoding="utf-8",
                        correlation_id=message["id"],
                        delivery_mode=2,
                        retry=False,
                    )
        except (*AWAY, *self._connection.connection_errors, *self._connection.channel_errors) as error:
            log.warning("hints_not_published", messages=len(messages), error=type(error).__name__)
            return False
        return True
