"""What to do with an outside effect that an earlier attempt began (docs: effects.md, docs: promises.md#p3)."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.jobs.failures import CallState, Failure
from domain.jobs.job import JsonObject

KEEP_EFFECT_FOR = timedelta(days=30)
"""An effect's key outlives every retry and replay of its job."""

CLAIM_MARGIN = 1 / 12
"""Right before the call this share of the lease must be left (of 60 s: 5 s), or its result could not be recorded.

A share and not a time: with a fixed time a short lease would refuse every effect.
"""


class Strategy(StrEnum):
    """How doubt about an effect is resolved."""

    NATIVE_KEY = "native_key"
    """The provider deduplicates by a key: call again with the same key and bytes (Resend)."""
    FIND = "find"
    """The provider can be asked whether it happened (Gmail, Graph, Discord)."""
    IDEMPOTENT = "idempotent"
    """Doing it twice is the same as once (labels)."""
    AT_MOST_ONCE = "at_most_once"
    """Nobody can know, and twice is worse than never (SMS, push)."""


class Standing(StrEnum):
    """What the ledger knew of an effect when an attempt wanted to begin it."""

    ACT = "act"
    DONE = "done"
    FIND_OUT = "find_out"
    BUSY = "busy"
    UNKNOWN = "unknown"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Found:
    """The effect happened; this is its result."""

    result: JsonObject


@dataclass(frozen=True, slots=True)
class NotFound:
    """The effect certainly did not happen."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The provider's answer proves nothing either way."""

    reason: str


Finding = Found | NotFound | CannotTell


def may_call_again(strategy: Strategy) -> bool:
    """Whether doubt is resolved by simply calling again."""
    return strategy in {Strategy.NATIVE_KEY, Strategy.IDEMPOTENT}


def status_after(failure: Failure, strategy: Strategy) -> str | None:
    """The status to record after a failed call: `failed` when nothing happened, `unknown` when nobody can ever tell.

    None leaves the intent standing, so that the next attempt finds out.
    """
    if failure.call_state is CallState.NOT_DONE:
        return "failed"
    return "unknown" if strategy is Strategy.AT_MOST_ONCE else None
