"""kombu's Redis transport for publishers, with one client of redis-py for each channel.

kombu makes a client for whatever it asks. redis-py copies a table of 170 callbacks into each: 80 us, a third of what it
takes to publish one hint.
"""

from typing import Any

from kombu.transport import redis

from engine.celery_patches import tls

PRIVATE = ("kombu.transport.redis:Channel._create_client",)


class KeptClientChannel(redis.Channel):  # type: ignore[misc] # kombu ships no types
    """A channel that keeps its client for as long as it keeps the pool of connections behind it."""

    _kept: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002 - kombu's signature
        if asynchronous:
            return super()._create_client(asynchronous)
        # A channel that was disconnected, or inherited over a fork, has another pool.
        if self._kept is None or self._kept.connection_pool is not self.pool:
            self._kept = super()._create_client()
        return self._kept


class Transport(redis.Transport):  # type: ignore[misc] # kombu ships no types
    """Redis and Valkey, for a publisher."""

    Channel = KeptClientChannel


class SecureTransport(tls.SecureTransport, Transport):
    """The same over TLS."""
