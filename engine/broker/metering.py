"""Counts every call to a provider, fleet-wide, before it is made; a full window makes the job wait without a slot."""

from collections.abc import Mapping
from datetime import timedelta

from domain.diagnosis import Diagnosis
from domain.jobs.failures import Scope, Throttled
from domain.jobs.scheduling.limits import bounded, limits_of
from providers.ports import Meter
from providers.sliding_windows import Full, SlidingWindows, Taking
from settings import Settings

LEAST_WAIT = timedelta(milliseconds=100)
"""The window may have moved between the refusal and the look at it; a gate of no length would keep nobody back."""


class Meters:
    """Makes the meters of one process; all of them count in one Redis.

    While calls cannot be counted, the provider's own refusal, which closes a gate as ours does, is the second line of
    defence.
    """

    def __init__(
        self, url: str | None, own_amounts: Mapping[str, int] | None = None, setting: str = "POSTROOM_LIMITS_URL"
    ) -> None:
        """Count at that Redis, which the setting names, or in this process's memory without one."""
        self._setting = setting
        self._windows = SlidingWindows(url)
        self._own_amounts = dict(own_amounts or {})

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
        counted = [
            (limit, "" if limit.scope is Scope.PROVIDER else account)
            for limit in limits_of(provider, self._own_amounts)
            if limit.scope is Scope.PROVIDER or account
        ]

        def ask(method: str, units: int) -> None:
            full = self._windows.take(*(Taking(limit, key, bounded(limit, units)) for limit, key in counted))
            if full is not None:
                raise _refusal(full, method)

        return ask

    def diagnosis(self) -> Diagnosis | None:
        """Why calls cannot be counted; None when they can."""
        return self._windows.diagnosis(self._setting)


def _refusal(full: Full, method: str) -> Throttled:
    limit = full.limit
    return Throttled(
        f"{method}: the limit {limit.name} is reached",
        retry_after=max(full.wait, LEAST_WAIT),
        scope=limit.scope,
        provider=limit.provider,
        code=f"limit.{limit.name}",
    )
