"""The broker's epoch: a mark in the broker that vanishes with its data, so that the loss is noticed."""

from functools import cached_property
from typing import Any

from kombu import Connection
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

import celeryconfig
from tasks.runtime import Runtime

KEY = "postroom:epoch"
"""The key of the mark in Redis, and what the name of the marking queue in RabbitMQ begins with."""

QUORUM = {"x-queue-type": "quorum"}
"""As the fleet's own queues (celeryconfig): the mark must not be lost where they are kept."""
NOT_FOUND = 404


class BrokerAway(Exception):
    """The broker cannot be asked now."""


class BrokerEpoch:
    """Reads the broker's epoch: in Redis a key holds it, in RabbitMQ it is part of the name of an empty queue.

    Other brokers have none, and the patience of hints must do.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Take the broker's address from the process's settings."""
        self._url = runtime.settings.broker_url.get_secret_value()

    def read_or_set(self, fresh: str, known: str | None) -> str | None:
        """The epoch that stands in the broker, after setting `fresh` if there was none; None without a mark.

        `known` is the epoch that was there before. Raises `BrokerAway`.
        """
        try:
            if self._url.startswith(("redis://", "rediss://", "unix://")):
                return self._key(fresh)
            if self._url.startswith(("amqp://", "amqps://", "pyamqp://")):
                return self._queue(fresh, known)
        except (OperationalError, OSError, RedisError, *self._connection.channel_errors) as error:
            self._connection.close()
            raise BrokerAway(type(error).__name__) from error
        return None

    def _key(self, fresh: str) -> str | None:
        self._client.set(KEY, fresh, nx=True)
        value = self._client.get(KEY)
        return value.decode() if isinstance(value, bytes) else None

    def _queue(self, fresh: str, known: str | None) -> str:
        """A queue and not a message: whoever reads a message takes it away for a moment, and may die with it."""
        self._connection.ensure_connection(max_retries=1, interval_start=0)
        if known is not None and self._stands(known):
            return known
        with self._connection.channel() as channel:
            # The fleet's queues are gone too, and what is sent to a queue that is not there vanishes without a word.
            for queue in celeryconfig.task_queues:
                queue(channel).declare()
            channel.queue_declare(f"{KEY}:{fresh}", durable=True, auto_delete=False, arguments=QUORUM)
        return fresh

    def _stands(self, epoch: str) -> bool:
        with self._connection.channel() as channel:
            try:
                channel.queue_declare(f"{KEY}:{epoch}", passive=True)
            except self._connection.channel_errors as error:
                if getattr(error, "reply_code", None) != NOT_FOUND:
                    raise
                return False
        return True

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
        return Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=5)

    @cached_property
    def _connection(self) -> Any:  # noqa: ANN401 - kombu ships no types
        return Connection(self._url, connect_timeout=5, transport_options={"read_timeout": 5, "write_timeout": 5})
