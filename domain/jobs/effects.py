"""An outside effect that an earlier attempt began, or whose job has ended in doubt: what to do (docs: effects.md)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

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
    """Doing it twice is the same as once (labels, and pushes, of which a device shows both in one place)."""
    AT_MOST_ONCE = "at_most_once"
    """Nobody can know, and twice is worse than never."""


class Standing(StrEnum):
    """What the ledger knew of an effect when an attempt wanted to begin it."""

    ACT = "act"
    DONE = "done"
    FIND_OUT = "find_out"
    BUSY = "busy"
    UNKNOWN = "unknown"


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


class Doubt(NamedTuple):
    """An effect that may have happened, and on which no job works any more."""

    org_id: UUID
    key: str
    strategy: Strategy
    status: EffectStatus | None
    """`UNKNOWN`, or None for a call whose end its job did not see."""
    job_id: UUID
    job_type: str | None
    """None when neither the job nor its dead letter is kept any more."""
    since: datetime
    account_id: UUID | None = None
    """Whose account it concerns, if any."""


class Resolution(StrEnum):
    """What to do about a doubt."""

    ASK = "ask"
    """A job of the effect's org asks the provider."""
    TELL = "tell"
    """A person must find out."""
    LEAVE = "leave"
    """Twice is the same as once: the next job that wants the effect calls again, and no person has to look."""


def resolution_of(doubt: Doubt, *, can_ask: bool) -> Resolution:
    """What to do about a doubt; `can_ask` is whether the job type says how its provider is asked."""
    if doubt.strategy is Strategy.IDEMPOTENT and doubt.status is None:
        return Resolution.LEAVE
    return Resolution.ASK if can_ask and doubt.strategy is Strategy.FIND else Resolution.TELL


class Conclusion(NamedTuple):
    """How an effect is written down after its provider was asked."""

    status: EffectStatus
    result: JsonObject | None = None
    error: JsonObject | None = None


def conclude(finding: Finding) -> Conclusion:
    """What the provider's answer means."""
    match finding:
        case Found(result=result):
            return Conclusion(EffectStatus.SUCCEEDED, result=result)
        case NotFound():
            return Conclusion(EffectStatus.FAILED, error={"code": "not_found", "reason": "it certainly did not happen"})
        case CannotTell(reason=reason):
            return Conclusion(EffectStatus.UNKNOWN, error={"code": "uncertain", "reason": reason})


def sort_out(doubts: Iterable[Doubt], can_ask: Callable[[Doubt], bool]) -> tuple[list[Doubt], list[Doubt]]:
    """Those to ask about, and those to tell a person."""
    found = [(each, resolution_of(each, can_ask=can_ask(each))) for each in doubts]
    return (
        [each for each, way in found if way is Resolution.ASK],
        [each for each, way in found if way is Resolution.TELL],
    )
