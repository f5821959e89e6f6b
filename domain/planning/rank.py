"""The best plans, best first: whole plans that differ, each proved best of what is left, or with its gap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

from domain.jobs.failures import Invalid
from domain.payloads.planning import MOST_ALTERNATIVES, MOST_DIFFER
from domain.planning.model import Plan
from domain.planning.programme import (
    Check,
    LinearRow,
    Points,
    Programme,
    SlotVariable,
    SolverAnswer,
    pinned_choices,
    plan_points,
    programme,
    unchecked,
)

Solve = Callable[[Programme, Sequence[int] | None], SolverAnswer]
"""A solver with its time limit. It may begin with the values that it is given, which keep all rows."""


class SearchEnd(StrEnum):
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

    choices: tuple[SlotVariable, ...]
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
    ended: SearchEnd


def suggest(
    plan: Plan, solve: Solve, *, alternatives: int = 3, differ: int = 5, check: Check = unchecked
) -> Suggestion:
    """The best plans, each of which differs from all before it in so many choices.

    A choice that only one of two plans has is a difference; a person in the place of another makes two. `solve`
    has its own way to be ended.
    """
    if not 1 <= alternatives <= MOST_ALTERNATIVES:
        raise Invalid("alternatives", f"must be between 1 and {MOST_ALTERNATIVES}")
    if not 1 <= differ <= MOST_DIFFER:
        raise Invalid("differ", f"must be between 1 and {MOST_DIFFER}")
    found: list[Proposal] = []
    wanted, pinned = programme(plan, check), pinned_choices(plan)
    start: Sequence[int] | None = greedy(wanted, check)
    while len(found) < alternatives:
        answer = solve(wanted, start)
        if answer.values is None:
            return Suggestion(tuple(found), SearchEnd.NO_MORE if answer.most is None else SearchEnd.OUT_OF_TIME)
        choices = tuple(sorted((*pinned, *wanted.chosen(answer.values))))
        points = plan_points(plan, choices)
        found.append(Proposal(choices, points, points.total if answer.most is None else answer.most))
        wanted, start = apart(wanted, answer.values, differ), None
    return Suggestion(tuple(found), SearchEnd.ENOUGH)


def apart(programme: Programme, values: Sequence[int], differ: int) -> Programme:
    """The same programme, of whose plans each differs from these values in so many choices."""
    choices = values[: len(programme.choices)]
    terms = tuple((index, 1 if value else -1) for index, value in enumerate(choices))
    return replace(programme, rows=(*programme.rows, LinearRow(sum(choices) - differ, terms)))


def greedy(programme: Programme, check: Check = unchecked) -> tuple[int, ...]:
    """A plan to begin with: slot by slot, the most worth and the longest first, who still fits and gains the most.

    With it a solver has an answer when its time is over, however early that is. Of people who gain as much the one with
    the fewest hours takes the slot, so that the largest share grows late.
    """
    return _Greedy(programme).fill(check)


class _Greedy:
    """Fills the slots of a programme."""

    def __init__(self, programme: Programme) -> None:
        self._programme, self._rows_of = programme, programme.rows_of_variables()
        self._left = [row.most for row in programme.rows]
        self._values = [0] * len(programme.gains)
        self._share = len(programme.choices) if len(programme.gains) > len(programme.choices) else None
        limits = () if self._share is None else self._rows_of[self._share]
        self._is_share = {number for number, _ in limits}
        self._hours = {number: -self._left[number] for number in self._is_share}
        self._most = max(self._hours.values(), default=0)

    def fill(self, check: Check) -> tuple[int, ...]:
        programme = self._programme
        slots = [
            list(ones) for _, ones in groupby(range(len(programme.choices)), lambda one: programme.choices[one].slot_id)
        ]
        for slot in sorted(slots, key=self._importance):
            check()
            self._fill_slot(slot)
        if self._share is not None:
            self._values[self._share] = self._most
        return tuple(self._values)

    def _fill_slot(self, slot: Sequence[int]) -> None:
        able, most = [index for index in slot if self._fits(index)], -1
        while able:
            if most != self._most:  # it is a part of each rank
                able.sort(key=self._rank, reverse=True)
                most = self._most
            best = able.pop()
            if self._worth(best) <= 0:
                return
            if self._fits(best):
                self._take(best)

    def _importance(self, slot: Sequence[int]) -> tuple[int, int, int]:
        hours = max(self._hours_of(index)[1] for index in slot)
        return -max(self._programme.gains[index] for index in slot), -hours, slot[0]

    def _hours_of(self, index: int) -> tuple[int | None, int]:
        """The row of a person's hours, and the hours of the choice."""
        return next(
            ((number, factor) for number, factor in self._rows_of[index] if number in self._is_share), (None, 0)
        )

    def _after(self, index: int) -> int:
        number, hours = self._hours_of(index)
        return hours if number is None else self._hours[number] + hours

    def _worth(self, index: int) -> int:
        gain = self._programme.gains[index]
        if self._share is not None:
            gain += self._programme.gains[self._share] * max(0, self._after(index) - self._most)
        return gain

    def _rank(self, index: int) -> tuple[int, int, int]:
        return -self._worth(index), self._after(index), index

    def _fits(self, index: int) -> bool:
        rows = ((number, factor) for number, factor in self._rows_of[index] if number not in self._is_share)
        return all(self._left[number] >= factor for number, factor in rows)

    def _take(self, index: int) -> None:
        self._values[index] = 1
        for number, factor in self._rows_of[index]:
            self._left[number] -= factor
        person, hours = self._hours_of(index)
        if person is not None:
            self._hours[person] += hours
            self._most = max(self._most, self._hours[person])
