"""Programmes and rankings without a solver: rows hold for what breaks no rule, and a search of all plans ranks them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from domain.jobs.failures import Invalid
from domain.payloads.planning import MOST_WEIGHT
from domain.planning.model import Plan, Weights
from domain.planning.programme import MOST_SLOTS, Programme, SolverAnswer, pinned_choices, plan_points, programme
from domain.planning.rank import SearchEnd, greedy, suggest
from domain.planning.travel import Travel
from tests.doubles.planning.plans import (
    best_by_trying,
    choice,
    given,
    large_plan,
    person,
    place_id,
    places,
    slot,
    small_plan,
)

MOST_VARIABLES = 12


def try_all(wanted: Programme, start: Sequence[int] | None) -> SolverAnswer:
    """A solver of small programmes: the first of the best values."""
    assert start is None or wanted.keeps(start)
    assert len(wanted.gains) <= MOST_VARIABLES
    ranges = [range(upper + 1) for upper in wanted.uppers]
    kept = [values for values in product(*ranges) if wanted.keeps(values)]
    best = max(kept, key=wanted.points, default=None)
    return SolverAnswer(best, None if best is None else wanted.points(best))


SMALL = [plan for seed in range(400) if len(programme(plan := small_plan(seed)).choices) < 9][:40]


def test_the_best_values_are_the_best_plan() -> None:
    for plan in SMALL:
        wanted = programme(plan)
        answer = try_all(wanted, greedy(wanted))
        points, plans = best_by_trying(plan)
        assert answer.values is not None
        assert wanted.points(answer.values) == points <= wanted.ceiling
        assert frozenset((*pinned_choices(plan), *wanted.chosen(answer.values))) in plans


def test_the_points_of_values_are_the_points_of_their_plan() -> None:
    for seed in range(200):
        plan = small_plan(seed)
        wanted = programme(plan)
        values = greedy(wanted)
        assert wanted.keeps(values)
        chosen = (*pinned_choices(plan), *wanted.chosen(values))
        assert wanted.points(values) == plan_points(plan, chosen).total


def test_a_greedy_plan_gives_people_who_are_alike_equal_shares() -> None:
    plan = Plan(tuple(slot(number, number, number + 1) for number in range(12)), tuple(map(person, range(4))))
    wanted = programme(plan)
    assert wanted.points(greedy(wanted)) == 12_000 - 3 * 10


def test_plans_differ_and_end_when_there_are_no_more() -> None:
    plan = Plan((slot(1, 0, 1), slot(2, 0, 1)), (person(1), person(2)), weights=Weights(fairness=0))
    found = suggest(plan, try_all, alternatives=10, differ=4)
    assert [set(one.choices) for one in found.proposals] == [
        {choice(1, 2), choice(2, 1)},
        {choice(1, 1), choice(2, 2)},
    ] or [set(one.choices) for one in found.proposals] == [
        {choice(1, 1), choice(2, 2)},
        {choice(1, 2), choice(2, 1)},
    ]
    assert found.ended is SearchEnd.NO_MORE
    assert all(one.is_proved and one.gap_percent == 0 for one in found.proposals)
    assert suggest(plan, try_all, alternatives=2, differ=1).ended is SearchEnd.ENOUGH


def test_a_headcount_of_two_takes_two() -> None:
    plan = Plan((slot(1, 0, 1, headcount=2),), (person(1), person(2), person(3)))
    (best,) = suggest(plan, try_all, alternatives=1).proposals
    assert len(best.choices) == 2
    assert best.points.coverage == 2_000


def test_what_is_pinned_stays_and_takes_its_place() -> None:
    """A pinned person breaks a rule and stays; what clashes with the person is given to somebody else."""
    slots = (slot(1, 0, 2, skills=frozenset({"sound"})), slot(2, 1, 3))
    plan = Plan(slots, (person(1), person(2)), (given(1, 1, is_pinned=True),))
    (best,) = suggest(plan, try_all, alternatives=1).proposals
    assert best.choices == (choice(1, 1), choice(2, 2))


def test_a_plan_as_it_is_stays_where_nothing_is_better() -> None:
    plan = Plan((slot(1, 0, 1),), tuple(person(number) for number in range(5)), (given(1, 3),))
    (best,) = suggest(plan, try_all, alternatives=1).proposals
    assert best.choices == (choice(1, 3),)
    assert best.points.stability == 50


def test_without_time_there_is_no_plan_and_the_reason_is_said() -> None:
    plan = Plan((slot(1, 0, 1),), (person(1), person(2)))
    answers = iter([SolverAnswer((1, 0, 1), 1_200), SolverAnswer(None, 990)])
    found = suggest(plan, lambda _wanted, _start: next(answers))
    assert found.ended is SearchEnd.OUT_OF_TIME
    (best,) = found.proposals
    assert not best.is_proved
    assert best.gap_percent == pytest.approx(21.21, abs=0.01)


def test_weights_that_lose_points_together_are_refused() -> None:
    slots = tuple(slot(number, number, number + 1, headcount=100, priority=10) for number in range(22))
    with pytest.raises(Invalid, match="weights"):
        programme(Plan(slots, (person(1),), weights=Weights(coverage=MOST_WEIGHT)))
    programme(Plan(slots[:21], (person(1),), weights=Weights(coverage=MOST_WEIGHT, fairness=0)))


def test_a_plan_that_is_too_large_is_refused() -> None:
    slots = tuple(slot(number, number, number + 1) for number in range(500))
    with pytest.raises(Invalid, match="slots"):
        programme(Plan(slots, tuple(map(person, range(401)))))
    many = tuple(slot(number, number, number + 1) for number in range(MOST_SLOTS + 1))
    with pytest.raises(Invalid, match=f"are {MOST_SLOTS + 1}, and {MOST_SLOTS} at most") as refused:
        programme(Plan(many, (person(1),)))
    assert refused.value.field == "slots"


@dataclass(frozen=True)
class CountedTravel(Travel):
    """Counts the ways that are looked at."""

    looked_at: list[object] = field(default_factory=list)

    def minutes(self, start: UUID | None, end: UUID | None) -> int:
        self.looked_at.append((start, end))
        return super().minutes(start, end)


def test_slots_are_compared_with_those_near_them_only() -> None:
    """Each with those of three days: no way takes longer than two."""
    counted = []
    for days in (100, 200):
        travel = CountedTravel(places().places)
        slots = tuple(slot(day, 24 * day, 24 * day + 1, place_id=place_id(day % 2)) for day in range(days))
        programme(
            Plan(slots, (person(1),), tuple(given(day, 1, is_pinned=True) for day in range(0, days, 2)), travel=travel)
        )
        counted.append(len(travel.looked_at))
    assert counted[1] <= 2 * counted[0] + 10, "twice the slots, twice the work"


def test_a_plan_is_built_and_begun_with_a_look_between_slots() -> None:
    plan = large_plan("dense", slots=40, people=10)
    wanted, looks = programme(plan), list[None]()
    assert programme(plan, lambda: looks.append(None)) == wanted
    assert len(looks) >= 2 * 40
    looks.clear()
    greedy(wanted, lambda: looks.append(None))
    assert len(looks) == len({one.slot_id for one in wanted.choices})


@pytest.mark.parametrize("field", ["alternatives", "differ"])
def test_how_many_plans_and_how_different_has_bounds(field: str) -> None:
    for value in (0, -1, 10_000):
        bound: dict[str, Any] = {field: value}
        with pytest.raises(Invalid, match=field):
            suggest(Plan((), ()), try_all, **bound)


def test_an_empty_plan_has_an_answer() -> None:
    found = suggest(Plan((), ()), lambda wanted, _: SolverAnswer((0,) * len(wanted.gains), 0), alternatives=1)
    assert found.proposals[0].choices == ()
