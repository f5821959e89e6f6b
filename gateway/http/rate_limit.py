"""How many requests a key may make in a minute, counted for all gateways in the broker's Redis."""

import threading
import time
from datetime import timedelta
from functools import cached_property
from uuid import UUID

import structlog
from limits import RateLimitItemPerMinute
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from domain.jobs.failures import Scope, Throttled
from observability.connection_diagnosis import diagnosis_of
from settings import Settings

log = structlog.get_logger(__name__)

NAMESPACE = "postroom"

ANSWER_WITHIN_S = 0.5
"""As for calls to providers: a server on the same network answers in a millisecond."""

LEAVE_ALONE_S = 5.0
"""How long a server that did not answer is not asked again: the door stays open, and each request would wait."""


class RequestLimiter:
    """Counts the requests of each key in a sliding minute; shared by the threads of a gateway.

    While the place where they are counted is away, requests go on uncounted and the log says so.
    """

    def __init__(self, url: str | None, per_minute: int) -> None:
        """Count at that Redis, or in this process's memory without one; nothing connects yet."""
        self._url = url
        self._item = RateLimitItemPerMinute(per_minute, namespace=NAMESPACE)
        self._asked_again_at = 0.0
        self._making = threading.Lock()

    @classmethod
    def of(cls, settings: Settings) -> "RequestLimiter":
        """The limiter that the settings ask for."""
        return cls(settings.counting_url, settings.api_requests_per_minute)

    def count(self, key_id: UUID) -> None:
        """Count one request of a key; raises `Throttled` when its minute is full."""
        if time.monotonic() < self._asked_again_at:
            return
        try:
            if self._strategy.hit(self._item, str(key_id)):
                return
            left = self._strategy.get_window_stats(self._item, str(key_id)).reset_time - time.time()
        except StorageError as error:
            self._asked_again_at = time.monotonic() + LEAVE_ALONE_S
            lost = error.storage_error
            log.warning("requests_not_counted", error=type(lost).__name__, cause=diagnosis_of(lost).finding)
            return
        raise Throttled(
            f"more than {self._item.amount} requests of this key within a minute",
            retry_after=timedelta(seconds=min(max(left, 1.0), 60.0)),
            scope=Scope.ORG,
            provider="postroom",
            code="rate_limited",
        )

    @property
    def _strategy(self) -> SlidingWindowCounterRateLimiter:
        with self._making:
            return self._made

    @cached_property
    def _made(self) -> SlidingWindowCounterRateLimiter:
        if self._url is None:
            return SlidingWindowCounterRateLimiter(MemoryStorage(wrap_exceptions=True))
        return SlidingWindowCounterRateLimiter(
            RedisStorage(
                self._url.replace("unix://", "redis+unix://"),
                key_prefix=f"{NAMESPACE}:requests",
                wrap_exceptions=True,
                socket_timeout=ANSWER_WITHIN_S,
                socket_connect_timeout=ANSWER_WITHIN_S,
            )
        )
