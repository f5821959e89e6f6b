"""Counts in sliding windows, for the whole fleet in one Redis; while that does not answer, nothing is counted."""

import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from typing import NamedTuple, cast
from uuid import uuid4

import redis
import structlog
from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.commands.core import Script

from domain.diagnosis import Diagnosis
from domain.jobs.scheduling.limits import Limit, WindowUsage, wait_for_room
from observability.connection_diagnosis import diagnosis_of

log = structlog.get_logger(__name__)

NAMESPACE = "postroom"

ANSWER_WITHIN_S = 0.5
"""A server on the same network answers in a millisecond; a call must not wait long for one that is away."""

LEAVE_ALONE_S = 5.0
"""How long a server that did not answer is not asked again, or each call would wait for it."""

NOT_COUNTED = (redis.RedisError, OSError, AttributeError, ImportError, LookupError, TypeError, ValueError)
"""What Redis, or its URL, makes the client raise."""

KEPT_S = 60
"""How long the count of an examination stays where it could not be forgotten."""


TAKE_ALL = f"""
local function take(KEYS, ARGV)
{RedisStorage.SCRIPT_ACQUIRE_SLIDING_WINDOW.decode()}
end
for place = 1, #KEYS / 2 do
    local keys = {{KEYS[2 * place - 1], KEYS[2 * place]}}
    if not take(keys, {{ARGV[3 * place - 2], ARGV[3 * place - 1], ARGV[3 * place]}}) then
        for taken = 1, place - 1 do
            redis.call('decrby', KEYS[2 * taken], ARGV[3 * taken])
        end
        return place
    end
end
return 0
"""
"""The package's own script for each window in turn, and back again where one is full: a script runs alone in Redis.

Returns the place of the full window, counted from 1, or 0. A window has two keys, the earlier one first, and three
arguments: its amount, its seconds, the units.
"""


class Taking(NamedTuple):
    """Units to take of one key's window."""

    limit: Limit
    key: str = ""
    units: int = 1

    @property
    def seconds(self) -> int:
        """How long the window is."""
        return int(self.limit.per.total_seconds())

    @property
    def item(self) -> RateLimitItemPerSecond:
        """The window as the package has it."""
        return RateLimitItemPerSecond(self.limit.amount, self.seconds, NAMESPACE)

    @property
    def window(self) -> str:
        """What the package calls it."""
        return self.item.key_for(self.limit.name, self.key)


class Full(NamedTuple):
    """A window without room for what was to be taken, and how long to wait."""

    limit: Limit
    wait: timedelta


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

    def take(self, *asked: Taking) -> Full | None:
        """Take units of all windows, or of none and return one that is full; one round trip when they are there."""
        if not asked or time.monotonic() < self._asked_again_at:
            return None
        try:
            full = self._full_one(asked)
            return None if full is None else Full(full.limit, self._wait(full))
        except redis.RedisError as lost:
            self._asked_again_at = time.monotonic() + LEAVE_ALONE_S
            cause = diagnosis_of(lost).finding
            log.warning("calls_not_counted", limit=asked[0].limit.name, error=type(lost).__name__, cause=cause)
            return None

    def diagnosis(self, setting: str) -> Diagnosis | None:
        """Why nothing can be counted at the Redis that the setting names; None when a call of nobody's was counted."""
        key = f"{NAMESPACE}:doctor:{uuid4()}"
        try:
            storage = self._storage
            if isinstance(storage, RedisStorage):
                storage.acquire_sliding_window_entry(key, 1, KEPT_S)
                storage.clear_sliding_window(key, KEPT_S)
        except NOT_COUNTED as error:
            return diagnosis_of(error, setting)
        return None

    def _full_one(self, asked: Sequence[Taking]) -> Taking | None:
        storage = self._storage
        if isinstance(storage, MemoryStorage):
            return self._full_in_memory(SlidingWindowCounterRateLimiter(storage), asked)
        # As the package names a window and the one before it.
        names = [storage.prefixed_key(f"{{{one.window}}}") for one in asked]
        keys = [key for name in names for key in (f"{name}/-1", name)]
        full = self._take_all(keys, [word for one in asked for word in (one.limit.amount, one.seconds, one.units)])
        return asked[full - 1] if full else None

    def _full_in_memory(self, limiter: SlidingWindowCounterRateLimiter, asked: Sequence[Taking]) -> Taking | None:
        with self._making:
            for one in asked:
                if not limiter.test(one.item, one.limit.name, one.key, cost=one.units):
                    return one
            for one in asked:
                limiter.hit(one.item, one.limit.name, one.key, cost=one.units)
        return None

    def _wait(self, full: Taking) -> timedelta:
        previous, _, current, ends_in = self._storage.get_sliding_window(full.window, full.seconds)
        # The current window is kept for one window longer than it lasts, as the next one's predecessor.
        left = timedelta(seconds=min(max(ends_in - full.seconds, 0.0), full.seconds))
        return wait_for_room(full.limit, WindowUsage(current, previous, left), full.units)

    @cached_property
    def _take_all(self) -> Script:
        return cast("RedisStorage", self._storage).get_connection().register_script(TAKE_ALL.encode())

    @property
    def _storage(self) -> RedisStorage | MemoryStorage:
        with self._making:
            return self._made

    @cached_property
    def _made(self) -> RedisStorage | MemoryStorage:
        if self._url is None:
            return MemoryStorage()
        return RedisStorage(
            self._url.replace("unix://", "redis+unix://"),
            key_prefix=f"{NAMESPACE}:limits",
            socket_timeout=ANSWER_WITHIN_S,
            socket_connect_timeout=ANSWER_WITHIN_S,
        )
