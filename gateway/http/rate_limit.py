"""How many requests a key may make in a minute, counted for all gateways in the broker's Redis; so with sign-ins."""

import hashlib
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Scope, Throttled
from domain.jobs.scheduling.limits import MINUTE, Limit
from providers.sliding_windows import Full, SlidingWindows, Taking
from settings import Settings

SIGN_INS_PER_MINUTE = 5
"""From one network, by one browser that has come in before, and proofs of one session."""
GUESSES_PER_MINUTE = 30
"""Of one account, from all networks together; a single network has used up its own before."""


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
    """Counts the attempts to sign in, by network address and by account, in a sliding minute.

    A browser by which the account has come in before is counted by itself: strangers do not use up its attempts. All is
    counted in this process, too, so that nobody guesses without a bound while Redis does not answer.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing connects yet."""
        amounts = {"account": GUESSES_PER_MINUTE} | dict.fromkeys(
            ("address", "browser", "session"), SIGN_INS_PER_MINUTE
        )
        self._limits = {
            of: Limit(f"console.sign_ins.{of}", "postroom", Scope.ORG, amount, MINUTE, "ours")
            for of, amount in amounts.items()
        }
        self._counters = SlidingWindows(None), SlidingWindows(settings.counting_url)

    def count(self, account: str, address: str, browser: str = "") -> None:
        """Count one attempt; raises `Throttled` alike for accounts that exist and others.

        `browser` is one by which the account has come in before.
        """
        self._take(**({"browser": browser} if browser else {"address": address, "account": account}))

    def count_proof(self, session_id: UUID) -> None:
        """Count one attempt to prove who has a session; raises `Throttled`."""
        self._take(session=str(session_id))

    def _take(self, **keys: str) -> None:
        # The counter has no need to know who it is.
        takings = [Taking(self._limits[of], hashlib.sha256(key.encode()).hexdigest()) for of, key in keys.items()]
        for counter in self._counters:
            _refuse(counter.take(*takings), "attempts to sign in")


def _refuse(full: Full | None, what: str) -> None:
    if full is not None:
        raise Throttled(
            f"more than {full.limit.amount} {what} within a minute",
            retry_after=min(max(full.wait, timedelta(seconds=1)), MINUTE),
            scope=Scope.ORG,
            provider="postroom",
            code="rate_limited",
        )
