"""What a replay does about an effect is what the effect's guard does when it finds it so."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.effects import NATIVE_KEY_KNOWN_FOR, EffectStatus, Strategy, may_call_again
from domain.jobs.replays.replay_plan import EffectFate, KeptEffect, KeptStep, KeptWork, fate_of, plan_replay

TIMES = st.timedeltas(timedelta(0), timedelta(days=40))


@given(st.sampled_from(list(Strategy)), st.sampled_from(list(EffectStatus)), TIMES)
def test_an_end_that_is_known_decides_alone(strategy: Strategy, status: EffectStatus, age: timedelta) -> None:
    fates = {
        EffectStatus.SUCCEEDED: EffectFate.RECORDED,
        EffectStatus.FAILED: EffectFate.CALLED,
        EffectStatus.UNKNOWN: EffectFate.NEEDS_WORD,
    }
    assert fate_of(KeptEffect("key", strategy, status, age)) is fates[status]


@given(st.sampled_from(list(Strategy)), TIMES)
def test_a_call_in_doubt_is_never_repeated_blindly(strategy: Strategy, age: timedelta) -> None:
    fate = fate_of(KeptEffect("key", strategy, None, age))
    assert fate is not EffectFate.RECORDED
    assert (fate is EffectFate.CALLED) == (strategy is Strategy.IDEMPOTENT)
    assert (fate is EffectFate.NEEDS_WORD) == (strategy is not Strategy.FIND and not may_call_again(strategy, age))


@pytest.mark.parametrize(("over", "fate"), [(False, EffectFate.FOUND_OUT), (True, EffectFate.NEEDS_WORD)])
def test_a_native_key_finds_out_for_as_long_as_its_provider_knows_it(*, over: bool, fate: EffectFate) -> None:
    age = NATIVE_KEY_KNOWN_FOR + timedelta(seconds=1 if over else 0)
    assert fate_of(KeptEffect("key", Strategy.NATIVE_KEY, None, age)) is fate


@given(costs=st.lists(st.integers(0, 10**9), max_size=5), is_mended=st.booleans())
def test_steps_save_what_they_have_cost_unless_the_payload_is_another(*, costs: list[int], is_mended: bool) -> None:
    kept = KeptWork((), tuple(KeptStep(f"s{n}", cost) for n, cost in enumerate(costs)), sum(costs))
    plan = plan_replay(kept, is_mended=is_mended)
    assert [step.is_reused for step in plan.steps] == [not is_mended] * len(costs)
    assert plan.saves_microcents == (0 if is_mended else sum(costs))
