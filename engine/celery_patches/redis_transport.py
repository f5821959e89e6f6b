"""kombu's Redis transport, for hints: takes what waits in one round trip, and guards what is in no ledger yet.

A hint that gets lost is sent again by the relay, so that the three commands by which kombu guards each message against
its consumer's death buy nothing. A job of a foreign client is guarded by them until its task has taken it in.
"""

from collections.abc import Sequence
from time import monotonic
from typing import Any
from uuid import uuid4

import structlog
from kombu.transport import redis, virtual

from engine.broker.broker_silence import BrokerSilence
from engine.broker.hints import Unreadable, is_ours
from engine.celery_patches import tls
from engine.celery_patches.redis_clients import KeptClientChannel
from engine.celery_patches.redis_connections import bounded
from engine.messages.envelope import RawEnvelope, close_envelope, read_envelope
from engine.messages.foreign import RefusedMessage
from engine.messages.refused_messages import record_refusal, text_of
from engine.runtime import runtime

log = structlog.get_logger(__name__)

MISSHAPEN = (AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""What Celery stumbles over in a message between workers of a shape that it does not expect."""

COMPRESSION = "compression"

PRIVATE = (
    "kombu.transport.virtual.base:Message._raw",
    "kombu.transport.virtual.base:QoS._delivered",
    "kombu.transport.virtual.base:QoS._dirty",
    "kombu.transport.virtual.base:QoS._flush",
    "kombu.transport.redis:Channel._brpop_start",
    "kombu.transport.redis:Channel._brpop_read",
    "kombu.transport.redis:Channel._brpop_sent_at",
    "kombu.transport.redis:Channel._connparams",
    "kombu.transport.redis:Channel._deliver_fanout_message",
    "kombu.transport.redis:Channel._do_restore_message",
    "kombu.transport.redis:Channel._flush_brpop_reauth",
    "kombu.transport.redis:Channel._in_poll",
    "kombu.transport.redis:Channel._q_for_pri",
    "kombu.transport.redis:Channel._queue_cycle",
    "kombu.transport.redis:Channel._receive_one",
    "kombu.transport.redis:Channel._restore",
    "kombu.transport.virtual.base:Transport._deliver",
)

AT_ONCE = 128
"""Messages taken in one round trip, at most."""


class FleetQoS(redis.QoS):  # type: ignore[misc] # kombu ships no types
    """Counts what was received against what the consumer asked for."""

    appetite: int | None = None
    """How many messages the consumer wants to have open; None follows the prefetch count."""

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """Begin with nothing received."""
        super().__init__(*arguments, **options)
        self._guarded: set[str] = set()

    def can_consume(self) -> bool:
        """Whether to ask the broker for more."""
        return bool(super().can_consume()) if self.appetite is None else self._open() < self.appetite

    def can_consume_max_estimate(self) -> int:
        """How many more to ask for."""
        if self.appetite is None:
            room = super().can_consume_max_estimate()
            return AT_ONCE if room is None else int(room)
        return max(0, self.appetite - self._open())

    def append(self, message: Any, delivery_tag: str) -> None:  # noqa: ANN401 - a kombu message
        """Note a message; a foreign one is kept by the broker until it is acknowledged."""
        if is_ours(message.headers):
            virtual.QoS.append(self, message, delivery_tag)
        else:
            self._guarded.add(delivery_tag)
            super().append(message, delivery_tag)

    def ack(self, delivery_tag: str) -> None:
        """Forget a message."""
        if self._still_guarded(delivery_tag):
            super().ack(delivery_tag)
        else:
            virtual.QoS.ack(self, delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - kombu's signature
        """Forget a message, or put it back."""
        if self._still_guarded(delivery_tag):
            super().reject(delivery_tag, requeue)
        else:
            virtual.QoS.reject(self, delivery_tag, requeue and self._connected)

    def restore_unacked(self, client: Any = None) -> list[Any]:  # noqa: ANN401 - kombu's signature
        """Put back what is open, so that another worker need not wait for the relay to send hints again."""
        self._flush()
        for tag, message in list(self._delivered.items()):
            if tag in self._guarded:
                self.restore_by_tag(tag, client=client)
            else:
                self.channel.put_back(message)
        self._delivered.clear()
        return []

    def _still_guarded(self, delivery_tag: str) -> bool:
        """Whether a message must be acknowledged to the broker.

        Not through a connection that was lost while its job was taken in: kombu would raise what ends the worker. The
        broker brings the message again, and its job is known by then.
        """
        guarded = delivery_tag in self._guarded
        self._guarded.discard(delivery_tag)
        return guarded and self._connected

    @property
    def _connected(self) -> bool:
        return self.channel.connection is not None

    def _open(self) -> int:
        return len(self._delivered) - len(self._dirty)


class PackedMessage(virtual.Message):  # type: ignore[misc] # kombu ships no types
    """A message whose body stays compressed: kombu would unpack it to any size before anybody has looked at it."""

    def __init__(self, payload: RawEnvelope, channel: Any = None, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """As kombu's own; the envelope is one that `close_envelope` returned."""
        headers = payload["headers"]
        if COMPRESSION not in headers:
            super().__init__(payload, channel, **options)
            return
        bare = {name: value for name, value in headers.items() if name != COMPRESSION}
        super().__init__(payload | {"headers": bare}, channel, **options)
        self._raw, self.headers = payload, headers


class FleetChannel(KeptClientChannel):
    """A channel that empties its queue's head in one go: kombu's BRPOP would bring one message at a time.

    BLMPOP came with Redis 7; Valkey has it in all versions.
    """

    QoS = FleetQoS
    Message = PackedMessage

    @property
    def asked_at(self) -> float | None:
        """Since when the broker owes an answer to a request for messages, by the monotonic clock; None without one."""
        return self._brpop_sent_at if self._in_poll else None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - kombu's signature
        """What each connection of this channel is made of."""
        parameters: dict[str, Any] = super()._connparams(asynchronous)
        return parameters | {"connection_class": bounded(parameters["connection_class"], self.connection.silence)}

    def put_back(self, message: Any) -> None:  # noqa: ANN401 - a kombu message
        """Return one hint to the head of its queue."""
        route = message.delivery_info
        with self.conn_or_acquire() as client, client.pipeline() as pipe:
            self._do_restore_message(message.serializable(), route["exchange"], route["routing_key"], pipe)
            pipe.execute()

    def _restore(self, message: Any, leftmost: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - kombu's signature
        if is_ours(message.headers):
            self.put_back(message)
        else:
            super()._restore(message, leftmost)

    def _brpop_start(self, timeout: float | None = None) -> None:
        """Ask for what waits or comes first: in kombu's own way, but for as much as the consumer asked for."""
        queues = self._queue_cycle.consume(len(self.active_queues))
        if not queues:
            return
        keys = [
            self.global_keyprefix + self._q_for_pri(queue, step) for step in self.priority_steps for queue in queues
        ]
        room = max(1, min(self.qos.can_consume_max_estimate(), AT_ONCE))
        self._in_poll = self.client.connection
        self._brpop_sent_at = monotonic()
        wait_s = (self.brpop_timeout if timeout is None else timeout) or 0
        self.client.connection.send_command("BLMPOP", wait_s, len(keys), *keys, "RIGHT", "COUNT", room)

    def _brpop_read(self, **options: Any) -> bool:  # noqa: ANN401 - kombu's signature
        """Deliver what the reply brings."""
        key, items = self._read_reply(options)
        queue = key.decode().removeprefix(self.global_keyprefix).rsplit(self.sep, 1)[0]
        self._queue_cycle.rotate(queue)
        self._deliver_all(queue, items)
        return True

    def _read_reply(self, options: dict[str, Any]) -> tuple[bytes, Sequence[bytes]]:
        """The pending reply, as kombu reads it; raises `Empty` when its time ran out."""
        try:
            try:
                reply = self.client.parse_response(self.client.connection, "BLMPOP", **options)
            except self.connection_errors:
                self.client.connection.disconnect()
                raise
            if not reply:
                raise redis.Empty
            return reply[0], reply[1]
        finally:
            self._in_poll = None
            self._flush_brpop_reauth()

    def _deliver_all(self, queue: str, items: Sequence[bytes]) -> None:
        for item in items:
            try:
                envelope = read_envelope(item, queue, str(uuid4()))
            except Unreadable as problem:
                # kombu itself would end the consumer, and with it the other messages that came along.
                refused = RefusedMessage("unknown", "unknown", problem.field, problem.reason, wants_result=False)
                record_refusal(runtime(), refused, text_of(item))
            else:
                self.connection._deliver(envelope, queue)  # noqa: SLF001 - the channel's own transport

    def _receive_one(self, client: Any) -> Any:  # noqa: ANN401 - a redis client
        """Receive a message between workers; kombu reads its JSON, and a deep one would end the consumer."""
        try:
            return super()._receive_one(client)
        except RecursionError:
            log.warning("message_between_workers_refused", reason="nests too deep")
            return True

    def _deliver_fanout_message(self, message: object, exchange: str) -> bool:
        """Deliver a message between workers: events for gossip, and commands of `celery inspect` and `control`."""
        try:
            return bool(super()._deliver_fanout_message(close_envelope(message, str(uuid4())), exchange))
        except Unreadable as problem:
            log.warning(
                "message_between_workers_refused", exchange=exchange, field=problem.field, reason=problem.reason
            )
        except MISSHAPEN as error:
            # Celery reads these itself. What it cannot read concerns no job.
            log.warning("message_between_workers_refused", exchange=exchange, error=type(error).__name__)
        return True


class Transport(redis.Transport):  # type: ignore[misc] # kombu ships no types
    """Redis and Valkey, as the fleet uses them."""

    Channel = FleetChannel
    scheme = "redis"

    def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - kombu's signature
        """One silence for all channels, each of which has several connections."""
        self.silence = BrokerSilence()
        super().__init__(*arguments, **options)


class SecureTransport(tls.SecureTransport, Transport):
    """The same over TLS."""

    scheme = "rediss"
