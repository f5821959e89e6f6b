"""The broker's epoch: a key in the broker that vanishes with its data, so that the loss is noticed."""

from functools import cached_property
from typing import Any

from redis import Redis

from tasks.runtime import Runtime

KEY = "postroom:epoch"


class BrokerEpoch:
    """Reads the broker's epoch; brokers other than Redis have none, and the patience of hints must do."""

    def __init__(self, runtime: Runtime) -> None:
        """Take the broker's address from the process's settings."""
        self._url = runtime.settings.broker_url.get_secret_value()

    def read_or_set(self, fresh: str) -> str | None:
        """The epoch that stands in the broker, after setting `fresh` if there was none; None without Redis."""
        if not self._url.startswith(("redis://", "rediss://", "unix://")):
            return None
        self._client.set(KEY, fresh, nx=True)
        value = self._client.get(KEY)
        return value.decode() if isinstance(value, bytes) else None

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 - redis types its commands as sync or async at once
        return Redis.from_url(self._url, socket_timeout=5, socket_connect_timeout=5)
