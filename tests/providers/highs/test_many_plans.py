"""Five hundred small plans against a search of all plans, and five large ones, each proved (long)."""

import pytest

from domain.planning.programme import programme
from domain.planning.rank import suggest
from tests.doubles.planning.plans import SHAPES, best_by_trying, large_plan, small_plan
from tests.doubles.planning.solving import all_best, within

MOST_BEST = 12
PLANS = 500
AT_A_TIME = 50


@pytest.mark.parametrize("first", range(1_000, 1_000 + PLANS, AT_A_TIME))
def test_trying_every_plan_finds_the_same_best_plans(first: int) -> None:
    for seed in range(first, first + AT_A_TIME):
        plan = small_plan(seed)
        points, plans = best_by_trying(plan)
        best, found = all_best(plan, MOST_BEST)
        assert (best, found <= plans, len(found)) == (points, True, min(MOST_BEST, len(plans))), seed


@pytest.mark.parametrize("shape", SHAPES)
def test_a_plan_of_200_slots_and_100_people_is_proved_best(shape: str) -> None:
    plan = large_plan(shape)
    (best,) = suggest(plan, within(300), alternatives=1).proposals
    assert best.is_proved
    assert programme(plan).choices
