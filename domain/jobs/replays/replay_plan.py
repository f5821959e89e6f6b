"""What a replay would do with what the ledger keeps of the old job: its effects and its steps."""

from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from domain.jobs.effects import EffectStatus, Strategy, may_call_again


class EffectFate(StrEnum):
    """What a replay does about an effect that the old job has begun."""

    RECORDED = "recorded"
    """It has happened: the replay gets its result, and calls nobody."""
    FOUND_OUT = "found_out"
    """Nobody saw how it ended: the provider is asked, or knows the call by its key."""
    CALLED = "called"
    """It did not happen, or twice is the same as once: it is called."""
    NEEDS_WORD = "needs_word"
    """Nobody can find out: a person has to say whether it happened."""


class KeptEffect(NamedTuple):
    """An effect that a job has begun."""

    key: str
    strategy: Strategy
    status: EffectStatus | None
    """None for a call whose end its job did not see."""
    known_for: timedelta
    """Since when its provider may know the call."""


class KeptStep(NamedTuple):
    """A step whose result is kept."""

    name: str
    cost_microcents: int


class KeptWork(NamedTuple):
    """What the ledger keeps of a job."""

    effects: tuple[KeptEffect, ...]
    steps: tuple[KeptStep, ...]
    cost_microcents: int
    """What all attempts of the job have cost."""


class PlannedEffect(NamedTuple):
    """An effect, and what a replay does about it."""

    key: str
    fate: EffectFate


class PlannedStep(NamedTuple):
    """A step, and whether a replay does without its work."""

    name: str
    is_reused: bool
    saves_microcents: int


class ReplayPlan(NamedTuple):
    """What a replay would do; effects and steps that the old job did not come to are not known."""

    effects: tuple[PlannedEffect, ...]
    steps: tuple[PlannedStep, ...]

    @property
    def saves_microcents(self) -> int:
        """What the steps have cost that a replay reuses."""
        return sum(one.saves_microcents for one in self.steps)


def fate_of(effect: KeptEffect) -> EffectFate:
    """What a replay does about an effect, by the rules of `engine.effects`."""
    match effect.status:
        case EffectStatus.SUCCEEDED:
            return EffectFate.RECORDED
        case EffectStatus.FAILED:
            return EffectFate.CALLED
        case EffectStatus.UNKNOWN:
            return EffectFate.NEEDS_WORD
        case None if effect.strategy is Strategy.IDEMPOTENT:
            return EffectFate.CALLED
        case None if effect.strategy is Strategy.FIND or may_call_again(effect.strategy, effect.known_for):
            return EffectFate.FOUND_OUT
        case None:
            return EffectFate.NEEDS_WORD


def plan_replay(kept: KeptWork, *, is_mended: bool) -> ReplayPlan:
    """What a replay does about each; one with another payload does its steps anew."""
    return ReplayPlan(
        tuple(PlannedEffect(one.key, fate_of(one)) for one in kept.effects),
        tuple(PlannedStep(one.name, not is_mended, 0 if is_mended else one.cost_microcents) for one in kept.steps),
    )
