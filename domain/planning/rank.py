"""The best plans, best first: whole plans that differ, each proved best of what is left, or with its gap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from domain.jobs.failures import Invalid
from domain.planning.model import Plan
from domain.planning.programme import Answer, Choice, Points, Programme, Row, pinned_choices, plan_points, programme

MOST_ALTERNATIVES = 10
MOST_DIFFER = 1_000

Solve = Callable[[Programme, Sequence[int] | None], Answer]
"""A solver with its time limit. It may begin with the values that it is given, which keep all rows."""


class Ended(StrEnum):
    """Why a suggestion has no further plan."""

    ENOUGH = "enough"
    """There are as many as were asked for."""
    NO_MORE = "no_more"
    """It is proved that no other plan differs enough."""
    OUT_OF_TIME = "out_of_time"
    """None was found in time."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One whole plan: its choices with the pinned ones, its points, and what no plan exceeds in its place."""

    choices: tuple[Choice, ...]
    points: Points
    most: int

    @property
    def is_proved(self) -> bool:
        """Whether no plan in its place has more points."""
        return self.points.total >= self.most

    @property
    def gap_percent(self) -> float:
        """By how much, at most, a better plan has more points; 0 where this plan is proved best."""
        missing = max(0, self.most - self.points.total)
        return round(100 * missing / max(1, abs(self.points.total)), 2)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The proposals, best first, and why there are no more."""

    proposals: tuple[Proposal, ...]
    ended: Ended


def suggest(plan: Plan, solve: Solve, *, alternatives: int = 3, differ: int = 5) -> Suggestion:
    """The best plans, each of which differs from all before it in so many choices.

    A choice that only one of two plans has is a difference; a person in the place of another makes two.
    """
    if not 1 <= alternatives <= MOST_ALTERNATIVES:
        raise Invalid("alternatives", f"must be between 1 and {MOST_ALTERNATIVES}")
    if not 1 <= differ <= MOST_DIFFER:
        raise Invalid("differ", f"must be between 1 and {MOST_DIFFER}")
    found: list[Proposal] = []
    wanted, pinned = programme(plan), pinned_choices(plan)
    start: Sequence[int] | None = greedy(wanted)
    while len(found) < alternatives:
        answer = solve(wanted, start)
        if answer.values is None:
            return Suggestion(tuple(found), Ended.NO_MORE if answer.most is None else Ended.OUT_OF_TIME)
        choices = tuple(sorted((*pinned, *wanted.chosen(answer.values))))
        points = plan_points(plan, choices)
        found.append(Proposal(choices, points, points.total if answer.most is None else answer.most))
        wanted, start = apart(wanted, answer.values, differ), None
    return Suggestion(tuple(found), Ended.ENOUGH)


def apart(programme: Programme, values: Sequence[int], differ: int) -> Programme:
    """The same programme, of whose plans each differs from these values in so many choices."""
    choices = values[: len(programme.choices)]
    terms = tuple((index, 1 if value else -1) for index, value in enumerate(choices))
    return replace(programme, rows=(*programme.rows, Row(sum(choices) - differ, terms)))


def greedy(programme: Programme) -> tuple[int, ...]:
    """A plan to begin with: the choices in the order of what they gain, each that still fits.

    With it a solver has an answer when its time is over, however early that is.
    """
    left = [row.most for row in programme.rows]
    rows_of = programme.rows_of_variables()
    values = [0] * len(programme.gains)

    def take(index: int, value: int) -> None:
        values[index] = value
        for number, factor in rows_of[index]:
            left[number] -= factor * value

    choices, shares = range(len(programme.choices)), range(len(programme.choices), len(values))
    for index in shares:
        take(index, programme.uppers[index])
    for index in sorted(choices, key=lambda index: (-programme.gains[index], index)):
        if programme.gains[index] > 0 and all(left[number] >= factor for number, factor in rows_of[index]):
            take(index, 1)
    for index in shares:  # no larger than it has to be
        values[index] -= min((left[number] for number, _ in rows_of[index]), default=0)
    return tuple(values)
