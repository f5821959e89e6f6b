"""How many requests a key may make in a minute, counted for all gateways in the broker's Redis; so with sign-ins."""

import hashlib
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Scope, Throttled
from domain.jobs.scheduling.limits import MINUTE, Limit
from providers.sliding_windows import Full, SlidingWindows, Taking
from settings import Settings

SIGN_INS_PER_MINUTE = 5


class RequestLimiter:
    """Counts the requests of each key in a sliding minute; shared by the threads of a gateway."""

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        amount = settings.api_requests_per_minute
        self._limit = Limit("api.requests", "postroom", Scope.ORG, amount, MINUTE, "POSTROOM_API_REQUESTS_PER_MINUTE")
        self._windows = SlidingWindows(settings.counting_url)

    def count(self, key_id: UUID) -> None:
        """Count one request of a key; raises `Throttled` when its minute is full."""
        _refuse(self._windows.take(Taking(self._limit, str(key_id))), "requests of this key")


class SignInLimiter:
    """Counts the attempts to sign in, by account and by network address, in a sliding minute.

    Counted in this process, too, so that nobody guesses without a bound while Redis does not answer.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        by_account, by_address = (
            Limit(f"console.sign_ins.{of}", "postroom", Scope.ORG, SIGN_INS_PER_MINUTE, MINUTE, "ours")
            for of in ("account", "address")
        )
        self._limits = by_account, by_address
        self._counters = SlidingWindows(None), SlidingWindows(settings.counting_url)

    def count(self, account: str, address: str) -> None:
        """Count one attempt; raises `Throttled` alike for accounts that exist and others."""
        by_account, by_address = self._limits
        # The counter has no need to know who it is.
        of_account = Taking(by_account, hashlib.sha256(account.encode()).hexdigest())
        for counter in self._counters:
            _refuse(counter.take(Taking(by_address, address), of_account), "attempts to sign in")


def _refuse(full: Full | None, what: str) -> None:
    if full is not None:
        raise Throttled(
            f"more than {full.limit.amount} {what} within a minute",
            retry_after=min(max(full.wait, timedelta(seconds=1)), MINUTE),
            scope=Scope.ORG,
            provider="postroom",
            code="rate_limited",
        )
