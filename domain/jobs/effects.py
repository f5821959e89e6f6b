"""What to do with an outside effect that an earlier attempt began (docs: effects.md, docs: promises.md#p3)."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from domain.jobs.failures import CallState, Failure
from domain.jobs.job import JsonObject

KEEP_EFFECT_FOR = timedelta(days=30)
"""An effect's key outlives every retry and replay of its job."""


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


NATIVE_KEY_KNOWN_FOR = timedelta(hours=23)
"""How long after the first call a provider recognises its key: Resend forgets it after 24 hours, less an hour for the
repeated call's own way."""


def may_call_again(strategy: Strategy, known_for: timedelta) -> bool:
    """Whether doubt is resolved by calling again, when the first call was made so long ago."""
    return strategy is Strategy.IDEMPOTENT or (strategy is Strategy.NATIVE_KEY and known_for <= NATIVE_KEY_KNOWN_FOR)


class EffectStatus(StrEnum):
    """How an effect ended, as far as anybody knows."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Certainly not done; it may be tried again."""
    UNKNOWN = "unknown"
    """Nobody can tell; a person decides."""


def status_after(failure: Failure, strategy: Strategy, *, doubted: bool = False) -> EffectStatus | None:
    """The status to record after a failed call: `FAILED` when nothing happened, `UNKNOWN` when nobody can ever tell.

    None leaves the intent standing, so that the next attempt finds out. So does the refusal of a call that repeats one
    in doubt (`doubted`) under a native key: the age of the key still counts.
    """
    if failure.call_state is CallState.NOT_DONE:
        return None if doubted and strategy is Strategy.NATIVE_KEY else EffectStatus.FAILED
    return EffectStatus.UNKNOWN if strategy is Strategy.AT_MOST_ONCE else None
