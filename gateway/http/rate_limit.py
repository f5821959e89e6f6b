"""How many requests a key may make in a minute, counted for all gateways in the broker's Redis."""

from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Scope, Throttled
from domain.jobs.scheduling.limits import MINUTE, Limit
from providers.sliding_windows import SlidingWindows, Taking
from settings import Settings


class RequestLimiter:
    """Counts the requests of each key in a sliding minute; shared by the threads of a gateway."""

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        amount = settings.api_requests_per_minute
        self._limit = Limit("api.requests", "postroom", Scope.ORG, amount, MINUTE, "POSTROOM_API_REQUESTS_PER_MINUTE")
        self._windows = SlidingWindows(settings.counting_url)

    def count(self, key_id: UUID) -> None:
        """Count one request of a key; raises `Throttled` when its minute is full."""
        full = self._windows.take(Taking(self._limit, str(key_id)))
        if full is not None:
            raise Throttled(
                f"more than {self._limit.amount} requests of this key within a minute",
                retry_after=min(max(full.wait, timedelta(seconds=1)), MINUTE),
                scope=Scope.ORG,
                provider="postroom",
                code="rate_limited",
            )
