"""Retry is arithmetic over policy, attempt and a random number (docs: queues.md#retry-policies).

So is the wait of a job that goes back without having spent an attempt: over why, and how often it has.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple

from domain.jobs.failures import Busy, ClaimLost, ForOtherWorker, InFlight

MOST_DOUBLINGS = 20
"""A second doubled twenty times is twelve days, past every cap; the bound keeps the arithmetic from overflowing."""

LEAST_SHARE = 0.1
"""The least part of a delay that chance leaves of it: a retry at once would meet the same failure, and nine tenths
spread the jobs that failed together nearly as well as the whole."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a job is tried, and how long it waits between two attempts."""

    name: str
    attempts: int
    base: timedelta
    cap: timedelta
    least: timedelta = timedelta(0)
    """No delay is shorter, whatever chance, attempt and the job's own times say."""

    def for_job(self, base_s: int | None, cap_s: int | None) -> "RetryPolicy":
        """This policy with a job's own times, in seconds; None leaves the policy's."""
        if base_s is None and cap_s is None:
            return self
        return replace(
            self,
            base=self.base if base_s is None else timedelta(seconds=base_s),
            cap=self.cap if cap_s is None else timedelta(seconds=cap_s),
        )

    def delay(self, attempt: int, jitter: float) -> timedelta:
        """How long to wait after the failed attempt number `attempt` (from 1), for jitter in [0, 1).

        Jitter: anything between a tenth of the doubled-up base and the whole of it, so that many jobs that failed
        together do not come back together, and none comes back at once.
        """
        doublings = min(attempt - 1, MOST_DOUBLINGS)
        most = min(self.cap, self.base * (1 << doublings))
        return max(self.least, most * (LEAST_SHARE + (1 - LEAST_SHARE) * jitter))


def _policy(name: str, attempts: int, base_s: float, cap_s: float) -> RetryPolicy:
    return RetryPolicy(name, attempts, timedelta(seconds=base_s), timedelta(seconds=cap_s))


STANDARD = _policy("standard", 5, 5, 300)
"""The default: all attempts within 8 to 75 seconds (docs: seeds.md#004-75)."""
NOTIFICATIONS = _policy("notifications", 10, 5, 1800)
"""A late message is better than none; the attempts span 4 to 43 minutes (docs: seeds.md#004-76)."""
PERSISTENT = _policy("persistent", 20, 5, 1800)
"""What a person waits for and no other job makes up for: the attempts outlast a provider that is away for some three
hours, half an hour at the least."""
PLANNING = _policy("planning", 3, 5, 120)
"""A computation that fails three times fails for its input, and a person waits for it (docs: seeds.md#004-77)."""
EXPORTS = _policy("exports", 5, 5, 600)
"""Long work on files; ten minutes let a store recover (docs: seeds.md#004-78)."""
ENGINE = _policy("engine", 4, 10, 900)
"""10 s doubled, three retries (docs: seeds.md#002-29)."""
PATIENT = _policy("patient", 4, 30, 900)
"""30 s doubled, capped; onboarding and scheduled agents can wait (docs: seeds.md#003-36)."""
PIPELINE = _policy("pipeline", 3, 5, 300)
"""Three attempts; the fallback sync runs anyway (docs: seeds.md#000-63)."""

POLICIES = {p.name: p for p in (STANDARD, NOTIFICATIONS, PERSISTENT, PLANNING, EXPORTS, ENGINE, PATIENT, PIPELINE)}

LEAST_REST = timedelta(seconds=1)
"""The shortest wait of a job that comes back without having spent an attempt: it may come back for very long, and a
snooze into the past would otherwise keep a worker, the relay and the audit log busy without a pause."""

MOST_RETURNS = 20
"""How often in its life a job may go back without a fault that is known (its lease ran short, its process died beside
others, an effect may still be under way, its worker lacks a key) before that spends an attempt. A deploy or an outage
makes a few of them; a job that makes more does so by itself, and would go round for ever."""

MOST_SNOOZES = 1000
"""The same for snoozes, which a handler means: one each minute lasts for sixteen hours."""

WAIT_FOR_OTHER = timedelta(seconds=5)
"""How long a job waits first that another worker can do: one that has what it needs is often beside this one."""

LONGEST_WAIT_FOR_OTHER = timedelta(minutes=5)
"""The waits double up to this. So all free returns last for more than an hour, and a deploy has ended by then."""


class Wait(NamedTuple):
    """How long a job waits that goes back without an attempt spent, and why, as the audit log says it."""

    cause: str
    lasts: timedelta


FreeReturn = ClaimLost | InFlight | Busy | ForOtherWorker
"""What gives a job back without a fault of its own."""


def free_wait(failure: FreeReturn, returns: int) -> Wait:
    """How long a returned job waits, and the cause in the audit log."""
    match failure:
        case ClaimLost():
            return Wait("margin", LEAST_REST)
        case InFlight(wait=wait):
            return Wait("in_flight", max(wait, LEAST_REST))
        case Busy(wait=wait):
            return Wait("busy", max(wait, LEAST_REST))
        case ForOtherWorker():
            return Wait("other_worker", min(WAIT_FOR_OTHER * (1 << min(returns, MOST_RETURNS)), LONGEST_WAIT_FOR_OTHER))
