"""Retry is arithmetic over (policy, attempt, dice); the reason stands beside each number (spec section 2)."""

from dataclasses import dataclass
from datetime import timedelta

MOST_DOUBLINGS = 20
"""A second doubled twenty times is twelve days, past every cap; the bound keeps the arithmetic from overflowing."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a job is tried, and how long it waits between two attempts."""

    name: str
    attempts: int
    base: timedelta
    cap: timedelta

    def delay(self, attempt: int, dice: float) -> timedelta:
        """How long to wait after the failed attempt number `attempt` (from 1), for dice in [0, 1).

        Full jitter: anything between nothing and the doubled-up base, so that a crowd of jobs that failed
        together does not come back together.
        """
        doublings = min(attempt - 1, MOST_DOUBLINGS)
        return min(self.cap, self.base * (1 << doublings)) * dice


def _policy(name: str, attempts: int, base_s: float, cap_s: float) -> RetryPolicy:
    return RetryPolicy(name, attempts, timedelta(seconds=base_s), timedelta(seconds=cap_s))


STANDARD = _policy("standard", 5, 5, 300)
"""Seed 004's default: rides out a provider's bad five minutes."""
NOTIFICATIONS = _policy("notifications", 10, 5, 1800)
"""Seed 004: telling somebody late beats not telling; ten tries span hours."""
PLANNING = _policy("planning", 3, 5, 120)
"""Seed 004: a computation that fails thrice fails for its input, and a person waits for it."""
EXPORTS = _policy("exports", 5, 5, 600)
"""Seed 004: long file work; ten minutes let a store recover."""
ENGINE = _policy("engine", 4, 10, 900)
"""Seed 002: 10 s doubled, three retries."""
PATIENT = _policy("patient", 4, 30, 900)
"""Seed 003: 30 s doubled, capped; onboarding and scheduled agents are in no hurry."""
PIPELINE = _policy("pipeline", 3, 5, 300)
"""Seed 000: three attempts; the fallback sync comes round anyway."""

POLICIES = {p.name: p for p in (STANDARD, NOTIFICATIONS, PLANNING, EXPORTS, ENGINE, PATIENT, PIPELINE)}
