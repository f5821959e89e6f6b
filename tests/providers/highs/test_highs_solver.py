"""HiGHS finds what trying every plan finds, says the same each time, and stops when it has to."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest

from domain.planning.model import Plan, Weights
from domain.planning.programme import LinearRow, Programme, SlotVariable, SolverAnswer, pinned_choices, programme
from domain.planning.rank import SearchEnd, greedy, suggest
from providers.highs.solver import OPTIONS, HighsSolver
from tests.doubles.planning.plans import best_by_trying, large_plan, person, place_id, places, slot, small_plan
from tests.doubles.planning.solving import all_best, within
from tests.house.reading import ROOT

MOST_BEST = 12


def test_trying_every_plan_finds_the_same_best_plans() -> None:
    """In a few small plans; `test_many_plans.py` takes five hundred."""
    for seed in range(20):
        plan = small_plan(seed)
        points, plans = best_by_trying(plan)
        best, found = all_best(plan, MOST_BEST)
        assert (best, found <= plans, len(found)) == (points, True, min(MOST_BEST, len(plans)))


def test_a_single_point_decides() -> None:
    """The default gap of HiGHS, 10⁻⁴ of the points, would call either plan best."""
    travel = places((0, 1, 1))
    slots = tuple(slot(number, number * 2, number * 2 + 1, place_id=place_id(0), priority=10) for number in range(20))
    people = (person(1, home_id=place_id(1)), person(2, home_id=place_id(0)))
    weights = Weights(coverage=100_000, fairness=0)
    (best,) = suggest(Plan(slots, people, travel=travel, weights=weights), within(10), alternatives=1).proposals
    assert best.points.total == 20_000_000
    assert OPTIONS["mip_rel_gap"] == 0


def test_the_same_plan_has_the_same_answer_in_each_process() -> None:
    """Also in whatever order the plan comes."""
    plan = large_plan("tight", slots=30, people=12)
    shuffled = Plan(
        plan.slots[::-1], plan.collaborators[::-1], plan.assignments[::-1], travel=plan.travel, weights=plan.weights
    )
    script = (
        "from domain.planning.rank import suggest\n"
        "from tests.doubles.planning.plans import large_plan\n"
        "from tests.doubles.planning.solving import within\n"
        "print(repr(suggest(large_plan('tight', slots=30, people=12), within(10), alternatives=2)))"
    )
    other = subprocess.run(  # noqa: S603  # the arguments are constants
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    first = suggest(plan, within(10), alternatives=2)
    assert other.stdout == f"{first!r}\n", "and no word of the package's stands on the standard output"
    assert suggest(shuffled, within(10), alternatives=2) == first


def test_a_solver_without_time_answers_with_its_gap() -> None:
    """What it is given to begin with is its answer then; without that it has none."""
    wanted = programme(large_plan("dense", slots=60, people=30))
    start = greedy(wanted)
    answer = within(0)(wanted, start)
    assert answer.values is not None
    assert wanted.keeps(answer.values)
    assert answer.most is not None
    assert answer.most >= wanted.points(answer.values) >= wanted.points(start)
    assert within(0)(wanted, None).most is not None, "a plan may exist"


def test_a_suggestion_without_time_has_a_plan_with_its_gap() -> None:
    found = suggest(large_plan("dense", slots=60, people=30), within(0), alternatives=3)
    assert found.ended is SearchEnd.OUT_OF_TIME
    assert not found.proposals[0].is_proved
    assert found.proposals[0].gap_percent > 0


class Canceled(Exception):
    """What a job's check raises."""


@contextmanager
def solver_threads_end() -> Iterator[None]:
    yield
    assert not [one for one in threading.enumerate() if one.name == "highs"]


def test_a_cancel_stops_the_solver() -> None:
    def check() -> None:
        raise Canceled

    begun = time.monotonic()
    with solver_threads_end(), pytest.raises(Canceled):
        HighsSolver(check_every_s=0.1).solve(_hard(), None, seconds=600, check=check)
    assert time.monotonic() - begun < 30


def test_a_time_limit_ends_the_solver() -> None:
    begun = time.monotonic()
    answer = HighsSolver().solve(_hard(), None, seconds=0.2, check=lambda: None)
    assert (answer.values, answer.most is None) == (None, False), "nothing was found, and nothing is proved"
    assert time.monotonic() - begun < 30


def _hard() -> Programme:
    """Four times half of fifty numbers: a solver has to search most of the choices (market split, Cornuéjols 1998)."""
    chance, size, rows = Random(1), 50, []  # noqa: S311 - the same programme each time is wanted
    for _ in range(4):
        factors = [(index, chance.randrange(1, 100)) for index in range(size)]
        half = sum(factor for _, factor in factors) // 2
        rows += [
            LinearRow(half, tuple(factors)),
            LinearRow(-half, tuple((index, -factor) for index, factor in factors)),
        ]
    return Programme(
        choices=tuple(SlotVariable(place_id(index), place_id(index)) for index in range(size)),
        gains=(1,) * size,
        uppers=(1,) * size,
        rows=tuple(rows),
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((), SolverAnswer((2, 3), 17)),
        ((LinearRow(3, ((0, 1), (1, 1))),), SolverAnswer((0, 3), 13)),
        ((LinearRow(-6, ((0, -1), (1, -1))),), SolverAnswer(None, None)),
    ],
)
def test_an_answer_is_proved_or_says_that_there_is_none(rows: tuple[LinearRow, ...], expected: SolverAnswer) -> None:
    choices = tuple(SlotVariable(place_id(index), place_id(index)) for index in range(2))
    wanted = Programme(choices, gains=(2, 4), uppers=(2, 3), rows=rows, pinned_points=1)
    assert within(10)(wanted, None) == expected


@pytest.mark.parametrize(
    ("rows", "expected"), [((), SolverAnswer((), 7)), ((LinearRow(-1, ()),), SolverAnswer(None, None))]
)
def test_a_programme_without_variables_needs_no_solver(rows: tuple[LinearRow, ...], expected: SolverAnswer) -> None:
    assert within(0)(Programme((), (), (), rows, pinned_points=7), None) == expected


def test_pinned_choices_are_in_each_proposal() -> None:
    for seed in range(40, 60):
        plan = small_plan(seed)
        for proposal in suggest(plan, within(10), alternatives=2, differ=1).proposals:
            assert set(pinned_choices(plan)) <= set(proposal.choices)
