"""Publishes hints and demand; what the broker does not take, the relay sends later."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from typing import Any

import structlog
from kombu import Connection
from kombu.connection import ConnectionPool

from domain.jobs.job import Hint
from domain.jobs.queues import PLAIN, BrokerNames
from domain.jobs.scheduling.backlog_demand import Demand
from engine.broker.broker_silence import BrokerSilence
from engine.broker.connection_errors import AWAY, MISTAKES, NotMade, log_failure, making
from engine.broker.hints import BODY, BUNDLE, Message, bundles, demand_message, hint_message
from engine.broker.transport_names import transport_of

POOL_SIZE = 10
"""Connections to the broker per process, at most: publishing takes microseconds, so few are ever needed."""

ANSWER_WITHIN_S = 5.0
"""How long the broker may take to connect and to answer. kombu's own default is to wait for ever: a publish would hang
with its worker slot."""

HEALTH_CHECK_S = 10
"""After how many seconds without an answer of the broker's a connection is asked whether it is still one."""

log = structlog.get_logger(__name__)


def transport_options(answer_within_s: float = ANSWER_WITHIN_S) -> dict[str, float]:
    """What kombu is told of a connection that only asks and publishes: no wait lasts without end."""
    return {
        "socket_connect_timeout": answer_within_s,
        "socket_timeout": answer_within_s,
        # RabbitMQ's answers are bounded by our transport. Without its confirmations, which cost a round trip each, a
        # hint may get lost.
        "write_timeout": answer_within_s,
        "health_check_interval": HEALTH_CHECK_S,
        # And no waiting for a broker that is away: kombu would hold the caller for its six seconds each time.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    }


def connect_to(broker_url: str, answer_within_s: float = ANSWER_WITHIN_S) -> Connection:
    """A connection to the broker on which no wait lasts without end; it connects with its first use."""
    return Connection(
        broker_url,
        transport=transport_of(broker_url),
        transport_options=transport_options(answer_within_s),
        connect_timeout=answer_within_s,
    )


class Publisher:
    """Sends hints to the broker; what it cannot send, the relay sends later."""

    def __init__(
        self,
        broker_url: str,
        names: BrokerNames = PLAIN,
        *,
        answer_within_s: float = ANSWER_WITHIN_S,
        health_check_s: float = HEALTH_CHECK_S,
    ) -> None:
        """Prepare for a process of its own; nothing is made of the URL yet, so that nothing of it raises."""
        self._broker_url = broker_url
        self._names = names
        self._answer_within_s = answer_within_s
        self._health_check_s = health_check_s
        self._silence = BrokerSilence()

    @property
    def may_publish(self) -> bool:
        """Whether the broker is asked at all: for a moment not, after it has left a question unanswered."""
        return not self._silence.lasts

    @cached_property
    def _connections(self) -> ConnectionPool:
        return connect_to(self._broker_url, self._answer_within_s).Pool(limit=POOL_SIZE)

    def close(self) -> None:
        """Close this process's connections to the broker."""
        connections = vars(self).pop("_connections", None)
        if connections is not None:
            connections.force_close_all()

    def publish(self, hints: Sequence[Hint], *, bundle: int = BUNDLE) -> bool:
        """Send hints in one pipelined batch; false when the broker could not take them all. Never raises for it."""
        return self._send([(alike[0].queue, hint_message(alike)) for alike in bundles(hints, bundle)])

    def publish_demand(self, queue: str, parts: Sequence[Demand]) -> bool:
        """Send demand, a message for each part; false when the broker could not take them all. Never raises for it."""
        return self._send([(queue, demand_message(part)) for part in parts])

    def _send(self, messages: Sequence[tuple[str, Message]]) -> bool:
        if not messages:
            return True
        if not self.may_publish:
            return False
        try:
            with (
                self._silence.noting(self._answer_within_s),
                self._connected() as channel,
                _sending(channel, len(messages)) as send,
            ):
                for queue, message in messages:
                    properties = {"correlation_id": message["id"], "delivery_mode": 2}
                    prepared = channel.prepare_message(BODY, 0, "application/json", "utf-8", message, properties)
                    send(prepared, exchange="", routing_key=self._names.name(queue))
        except (NotMade, *AWAY, *MISTAKES) as error:
            log_failure(log, "hints_not_published", error, messages=len(messages))
            return False
        return True

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A connection's channel; raises `NotMade`, and what kombu raises for a broker that is away.

        A producer of kombu's would be bound to the channel anew, and look for what to declare, for each message: a
        quarter of what it takes to publish one.
        """
        with ExitStack() as held:
            with making():
                lent = held.enter_context(self._connections.acquire(block=True, timeout=self._answer_within_s))
                channel = lent.default_channel  # connects
                if check := getattr(channel, "check_health", None):  # redis-py checks its connections itself
                    check(self._health_check_s)
            yield channel


@contextmanager
def _sending(channel: Any, messages: int) -> Iterator[Callable[..., object]]:  # noqa: ANN401 - kombu ships no types
    """What sends a message that the channel has prepared: several travel together where the transport can do that."""
    # One command needs no pipeline: 35 us less.
    if messages == 1 or not getattr(channel, "supports_batch_publish", False):
        yield channel.basic_publish
        return
    with closing(channel.create_publish_batch(messages)) as batch:
        yield batch.publish
        batch.flush()
