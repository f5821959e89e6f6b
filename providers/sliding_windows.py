"""Counts in sliding windows, for the whole fleet in one Redis; while that does not answer, nothing is counted."""

import threading
import time
from datetime import timedelta
from functools import cached_property
from uuid import uuid4

import structlog
from limits import RateLimitItemPerSecond
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage

from domain.jobs.scheduling.limits import Limit, WindowUsage, wait_for_room
from observability.connection_diagnosis import diagnosis_of

log = structlog.get_logger(__name__)

NAMESPACE = "postroom"

ANSWER_WITHIN_S = 0.5
"""A server on the same network answers in a millisecond; a call must not wait long for one that is away."""

LEAVE_ALONE_S = 5.0
"""How long a server that did not answer is not asked again, or each call would wait for it."""

KEPT_S = 60
"""How long the count of an examination stays where it could not be forgotten."""


class SlidingWindows:
    """The windows of all processes that count at the same Redis.

    While Redis does not answer, calls go on uncounted, and the log says so. Safe to share between threads; build it
    after any fork.
    """

    def __init__(self, url: str | None) -> None:
        """Count at that Redis, or in this process's memory without one; nothing connects yet."""
        self._url = url
        self._asked_again_at = 0.0
        self._making = threading.Lock()

    def take(self, limit: Limit, key: str, units: int = 1) -> timedelta | None:
        """Take units of a key's window, or return how long to wait for them; one round trip when they are there."""
        if time.monotonic() < self._asked_again_at:
            return None
        try:
            return self._take(limit, key, units)
        except StorageError as error:
            self._asked_again_at = time.monotonic() + LEAVE_ALONE_S
            lost = error.storage_error
            cause = diagnosis_of(lost).finding
            log.warning("calls_not_counted", limit=limit.name, error=type(lost).__name__, cause=cause)
            return None

    def examine(self) -> None:
        """Count a call of nobody's, and forget it; raises what Redis, or its URL, makes the client raise."""
        key = f"{NAMESPACE}:doctor:{uuid4()}"
        storage = self._storage
        lost: Exception | None = None
        if isinstance(storage, RedisStorage):
            try:
                storage.acquire_sliding_window_entry(key, 1, KEPT_S)
                storage.clear_sliding_window(key, KEPT_S)
            except StorageError as error:
                lost = error.storage_error
        if lost is not None:
            raise lost  # outside the handler, which would add to the chain of its causes

    def _take(self, limit: Limit, key: str, units: int) -> timedelta | None:
        seconds = int(limit.per.total_seconds())
        window = RateLimitItemPerSecond(limit.amount, seconds, NAMESPACE).key_for(limit.name, key)
        if self._storage.acquire_sliding_window_entry(window, limit.amount, seconds, units):
            return None
        previous, _, current, ends_in = self._storage.get_sliding_window(window, seconds)
        # The current window is kept for one window longer than it lasts, as the next one's predecessor.
        left = timedelta(seconds=min(max(ends_in - seconds, 0.0), seconds))
        return wait_for_room(limit, WindowUsage(current, previous, left), units)

    @property
    def _storage(self) -> RedisStorage | MemoryStorage:
        with self._making:
            return self._made

    @cached_property
    def _made(self) -> RedisStorage | MemoryStorage:
        if self._url is None:
            return MemoryStorage(wrap_exceptions=True)
        return RedisStorage(
            self._url.replace("unix://", "redis+unix://"),
            key_prefix=f"{NAMESPACE}:limits",
            wrap_exceptions=True,
            socket_timeout=ANSWER_WITHIN_S,
            socket_connect_timeout=ANSWER_WITHIN_S,
        )
