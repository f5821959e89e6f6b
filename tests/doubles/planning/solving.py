"""HiGHS with a time limit, as a ranking takes it."""

from collections.abc import Callable, Sequence

from domain.planning.model import Plan
from domain.planning.programme import Programme, SlotVariable, SolverAnswer, pinned_choices, programme
from domain.planning.rank import apart
from providers.highs.solver import HighsSolver


def within(seconds: float, check: Callable[[], None] = lambda: None) -> Callable[..., SolverAnswer]:
    """Solve, each programme in so many seconds at most."""

    def solve(wanted: Programme, start: Sequence[int] | None) -> SolverAnswer:
        return HighsSolver().solve(wanted, start, seconds=seconds, check=check)

    return solve


def all_best(plan: Plan, most: int) -> tuple[int, set[frozenset[SlotVariable]]]:
    """The points of the best plan, and all plans that have them, at most so many."""
    solve, wanted, pinned = within(10), programme(plan), pinned_choices(plan)
    best, found = None, set[frozenset[SlotVariable]]()
    while len(found) < most:
        answer = solve(wanted, None)
        if answer.values is None:
            break
        points = wanted.points(answer.values)
        assert points == answer.most, "proved best"
        if best is not None and points < best:
            break
        best = points
        found.add(frozenset((*pinned, *wanted.chosen(answer.values))))
        wanted = apart(wanted, answer.values, 1)
    assert best is not None
    return best, found
