"""What the broker tells of itself: its epoch, a key that vanishes with its data, and how much each queue holds."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from kombu import Connection
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from tasks.publisher import TRANSPORT_OPTIONS
from tasks.runtime import Runtime

KEY = "postroom:epoch"

UNAVAILABLE = (OperationalError, OSError, RedisError)
"""What the broker raises when it cannot be reached."""


class Broker:
    """The relay's own look at the broker."""

    def __init__(self, runtime: Runtime) -> None:
        """Take the broker's address from the process's settings; nothing connects yet."""
        self._url = runtime.settings.broker_url.get_secret_value()
        self._is_redis = self._url.startswith(("redis://", "rediss://", "unix://"))

    def read_or_set_epoch(self, fresh: str) -> str | None:
        """The epoch that stands in the broker, after setting `fresh` if there was none; None without Redis."""
        if not self._is_redis:
            return None
        self._redis.set(KEY, fresh, nx=True)
        value = self._redis.get(KEY)
        return value.decode() if isinstance(value, bytes) else None

    def depths(self, queues: Sequence[str]) -> Mapping[str, int]:
        """How many messages wait in each queue; what a worker has prefetched is not among them."""
        if self._is_redis:
            pipeline = self._redis.pipeline(transaction=False)
            for queue in queues:
                pipeline.llen(queue)
            return dict(zip(queues, pipeline.execute(), strict=True))
        try:
            return {queue: self._declared_depth(queue) for queue in queues}
        except self._connection.connection_errors as error:
            # A connection that broke once never works again.
            vars(self).pop("_connection").release()
            raise OperationalError(type(error).__name__) from error

    def _declared_depth(self, queue: str) -> int:
        channel = self._connection.channel()
        try:
            return int(channel.queue_declare(queue=queue, passive=True).message_count)
        except self._connection.channel_errors:
            return 0  # no worker has declared it yet
        finally:
            channel.close()

    @cached_property
    def _redis(self) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
        return Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=5)

    @cached_property
    def _connection(self) -> Any:  # noqa: ANN401 - Celery ships no types
        return Connection(self._url, transport_options=TRANSPORT_OPTIONS, connect_timeout=5)
