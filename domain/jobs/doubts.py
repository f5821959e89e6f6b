"""What becomes of an effect in doubt whose job has ended: asked about at the provider, or left to a person."""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from domain.jobs.effects import CannotTell, EffectStatus, Finding, Found, NotFound, Strategy
from domain.jobs.job import JsonObject


class Doubt(NamedTuple):
    """An effect that may have happened, and on which nobody works any more."""

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
    """Twice is the same as once: whoever wants the effect calls again, and nobody has to know."""


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
