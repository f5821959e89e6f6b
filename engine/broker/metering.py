"""Counts every call to a provider, fleet-wide, before it is made; a full window makes the job wait without a slot."""

import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from uuid import uuid4

import structlog
from limits import RateLimitItemPerSecond
from limits.errors import StorageError
from limits.storage import MemoryStorage, RedisStorage

from domain.diagnosis import Diagnosis
from domain.jobs.failures import Scope, Throttled
from domain.scheduling.limits import Limit, Used, bounded, limits_of, wait_for_room
from engine.broker.connection_errors import CONNECTION_ERRORS
from observability.connection_diagnosis import diagnosis_of
from providers.ports import Meter
from settings import Settings

log = structlog.get_logger(__name__)

NAMESPACE = "postroom"

ANSWER_WITHIN_S = 0.5
"""A server on the same network answers in a millisecond; a call must not wait long for one that is away."""

LEAVE_ALONE = timedelta(seconds=5)
"""How long a server that did not answer is not asked again, or each call of a job would wait for it."""

KEPT_S = 60
"""How long the count of an examination stays where it could not be forgotten."""

LEAST_WAIT = timedelta(milliseconds=100)
"""The window may have moved between the refusal and the look at it; a gate of no length would keep nobody back."""


class Meters:
    """Makes the meters of one process; all of them count in one place.

    When that place is away, calls go on uncounted, and the log says so: the provider's own refusal, which closes a gate
    as ours does, is the second line of defence. Safe to share between threads; build it after any fork.
    """

    def __init__(
        self, url: str | None, own_amounts: Mapping[str, int] | None = None, setting: str = "POSTROOM_LIMITS_URL"
    ) -> None:
        """Count at that Redis, or in this process's memory without one; nothing connects yet.

        `setting` is where its URL stands.
        """
        self._setting = setting
        self._url = url
        self._own_amounts = dict(own_amounts or {})
        self._asked_again_at = 0.0
        self._making = threading.Lock()

    @classmethod
    def of(cls, settings: Settings) -> "Meters":
        """The meters that the settings ask for."""
        return cls(settings.counting_url, settings.rate_limits, settings.counting_setting)

    def meter(self, provider: str, account: str = "") -> Meter:
        """What a provider's client asks before each call, for one account or, without one, for the installation.

        It raises `Throttled` when the call would exceed a limit: the job goes back to its queue without an attempt
        used, and a gate keeps the account's or the provider's other jobs from finding out one by one. Raises `Invalid`
        for a provider whose limits nobody has written down.
        """
        limits = limits_of(provider, self._own_amounts)

        def ask(method: str, units: int) -> None:
            for limit in limits:
                if limit.scope is Scope.PROVIDER or account:
                    self._count(limit, account, method, bounded(limit, units))

        return ask

    def diagnosis(self) -> Diagnosis | None:
        """Why calls cannot be counted; None when they can: a call of nobody's is, and is forgotten at once."""
        key = f"{NAMESPACE}:doctor:{uuid4()}"
        try:
            storage = self._storage
            if isinstance(storage, RedisStorage):
                storage.acquire_sliding_window_entry(key, 1, KEPT_S)
                storage.clear_sliding_window(key, KEPT_S)
        except StorageError as error:
            return diagnosis_of(error.storage_error, self._setting)
        except CONNECTION_ERRORS as error:
            return diagnosis_of(error, self._setting)
        return None

    def _count(self, limit: Limit, account: str, method: str, units: int) -> None:
        if time.monotonic() < self._asked_again_at:
            return
        try:
            wait = self._wait(limit, account, units)
        except StorageError as error:
            self._asked_again_at = time.monotonic() + LEAVE_ALONE.total_seconds()
            lost = error.storage_error
            cause = diagnosis_of(lost).finding
            log.warning("calls_not_counted", limit=limit.name, error=type(lost).__name__, cause=cause)
            return
        if wait is not None:
            raise Throttled(
                f"{method}: the limit {limit.name} is reached",
                retry_after=max(wait, LEAST_WAIT),
                scope=limit.scope,
                provider=limit.provider,
                code=f"limit.{limit.name}",
            )

    def _wait(self, limit: Limit, account: str, units: int) -> timedelta | None:
        """Take the units, or return how long to wait for them; one round trip when they are there."""
        seconds = int(limit.per.total_seconds())
        item = RateLimitItemPerSecond(limit.amount, seconds, NAMESPACE)
        key = item.key_for(limit.name, account if limit.scope is Scope.ACCOUNT else "")
        if self._storage.acquire_sliding_window_entry(key, limit.amount, seconds, units):
            return None
        previous, _, current, ends_in = self._storage.get_sliding_window(key, seconds)
        # The current window is kept for one window longer than it lasts, as the next one's predecessor.
        left = timedelta(seconds=min(max(ends_in - seconds, 0.0), seconds))
        return wait_for_room(limit, Used(current, previous, left), units)

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
