"""kombu's AMQP transport, as the fleet uses it: no wait for a broker's answer lasts without end.

py-amqp waits for ever for an answer, its `read_timeout` notwithstanding: a read that ran out of time is repeated
(amqp/transport.py, `_read`). And a change of the prefetch count is a round trip that Celery makes between two rounds of
its event loop: behind a connection that was lost without a word, claims and settlements would wait with it. That answer
says nothing, and a broker keeps the order of what it is sent, so nobody waits for it here.
"""

import time
from typing import Any

from amqp import spec
from kombu.transport import base, pyamqp

from engine.celery_patches import tls
from engine.celery_patches.redis_transport import COMPRESSION

ANSWER_S = 5.0
"""How long the broker may take to answer: as long as Redis may (celeryconfig.py)."""

PREFETCH = "lBb"
"""The types of the arguments of basic.qos, as py-amqp writes them."""


class PackedMessage(base.Message):  # type: ignore[misc] # kombu ships no types
    """A message as kombu's, whose body is unpacked by nobody."""

    def __init__(self, msg: Any, channel: Any = None, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """Take over what the client library has read."""
        properties = msg.properties
        headers = properties.get("application_headers") or {}
        super().__init__(
            body=msg.body,
            channel=channel,
            delivery_tag=msg.delivery_tag,
            content_type=properties.get("content_type"),
            content_encoding=properties.get("content_encoding"),
            delivery_info=msg.delivery_info,
            properties=properties,
            headers={name: value for name, value in headers.items() if name != COMPRESSION},
            **options,
        )
        self.headers = headers


class FleetAmqpChannel(pyamqp.Channel):  # type: ignore[misc] # kombu ships no types
    """A channel whose round trips are bounded, and that sets its prefetch count without one."""

    Message = PackedMessage

    def basic_qos(self, prefetch_size: int, prefetch_count: int, a_global: bool, argsig: str = PREFETCH) -> None:  # noqa: FBT001 - py-amqp's signature
        """Let the broker keep so many messages open; its answer is ignored when it comes."""
        self.send_method(spec.Basic.Qos, argsig, (prefetch_size, prefetch_count, a_global))

    def wait(self, method: Any, callback: Any = None, timeout: float | None = None, returns_tuple: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - as above
        """Wait for a method of the broker's, in all for as long as an answer may take; raises `TimeoutError`.

        Messages that come meanwhile do not prolong the wait. A connection without an answer is closed: Celery closes
        each of its channels with a question, and all of them would take that long.
        """
        connection = self.connection
        connection.answer_until = time.monotonic() + (ANSWER_S if timeout is None else timeout)
        try:
            answer = super().wait(method, callback, timeout, returns_tuple)
        except TimeoutError:
            connection.collect()
            raise
        else:
            connection.answered_at = time.monotonic()
            return answer
        finally:
            connection.answer_until = None

    def check_health(self, after_s: float) -> None:
        """Ask the broker to go on, which changes nothing, unless it has answered a question within so many seconds.

        Raises `TimeoutError`. The broker answers no publish, so a connection that was lost without a word would take
        everything that is ever published. (RabbitMQ answers a Channel.Flow whose `active` is true.)
        """
        if time.monotonic() - self.connection.answered_at >= after_s:
            self.flow(active=True)

    @property
    def asked_at(self) -> float | None:
        """When the broker was last heard of, by the monotonic clock: it owes at least a heartbeat."""
        heard_at: float | None = getattr(self.connection, "last_heartbeat_received", None)
        return heard_at or None


class FleetAmqpConnection(pyamqp.Connection):  # type: ignore[misc] # kombu ships no types
    """A connection whose channels are ours, and that waits no longer than it may."""

    Channel = FleetAmqpChannel
    answer_until: float | None = None
    """Until when somebody waits for an answer, by the monotonic clock."""
    answered_at = 0.0
    """When a question was answered last, by the same clock."""

    def blocking_read(self, timeout: float | None = None) -> Any:  # noqa: ANN401 - py-amqp ships no types
        """Read one frame; raises `TimeoutError`."""
        if timeout is None:
            timeout = ANSWER_S if self.answer_until is None else self.answer_until - time.monotonic()
            if timeout <= 0:
                raise TimeoutError("the broker did not answer")
        return super().blocking_read(timeout)


class Transport(pyamqp.Transport):  # type: ignore[misc] # kombu ships no types
    """RabbitMQ."""

    Connection = FleetAmqpConnection
    scheme = "amqp"


class SecureTransport(pyamqp.SSLTransport):  # type: ignore[misc] # kombu ships no types
    """RabbitMQ over TLS."""

    Connection = FleetAmqpConnection
    scheme = "amqps"

    def __init__(self, client: Any, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """Turn TLS on, and let the certificate be checked."""
        client.ssl = tls.amqp_options(client.ssl, client.hostname)
        super().__init__(client, **options)
