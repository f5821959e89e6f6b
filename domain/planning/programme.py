"""The plan as a programme of whole numbers, as tuples that any solver takes: variables, what each gains, rows.

A variable is a choice: this person in that slot, 0 or 1. Only choices that break no rule by themselves are variables;
pinned assignments are none, for they stand. The last variable is the hours of whoever has the most, and costs points.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.planning.conflicts import (
    REACH,
    Diary,
    Engagement,
    committed,
    engagement,
    lacking_minutes,
    limits,
    periods,
)
from domain.planning.model import Collaborator, Plan, Slot

MOST_SLOTS = 2_000
"""Two full run sheets. Where all are at the same time, each pair of them is compared: two million."""
MOST_PAIRS = 200_000
"""Slots times people, each of which is looked at: ten times the largest plan that was measured."""
MOST_POINTS = 2**31 - 1
"""Beyond them a solver that calculates with tolerances loses whole points."""


Check = Callable[[], None]
"""Called for each slot and each person; what it raises ends the work."""


def unchecked() -> None:
    """Lets the work go on."""


@dataclass(frozen=True, slots=True, order=True)
class SlotVariable:
    """A person in a slot."""

    slot_id: UUID
    collaborator_id: UUID


@dataclass(frozen=True, slots=True)
class LinearRow:
    """The sum of these variables, each times its factor, is at most this."""

    most: int
    terms: tuple[tuple[int, int], ...]
    """The variable's index and its factor."""

    def holds(self, values: Sequence[int]) -> bool:
        """Whether these values keep it."""
        return sum(values[index] * factor for index, factor in self.terms) <= self.most


@dataclass(frozen=True, slots=True)
class Programme:
    """Choose whole numbers from 0 to `uppers` that keep all rows and gain the most."""

    choices: tuple[SlotVariable, ...]
    """What the first variables mean."""
    gains: tuple[int, ...]
    uppers: tuple[int, ...]
    rows: tuple[LinearRow, ...]
    pinned_points: int = 0
    """What is gained by what is no choice."""
    ceiling: int = MOST_POINTS
    """What no plan exceeds, known without a solver: the best people in each slot."""

    def points(self, values: Sequence[int]) -> int:
        """The points of the whole plan."""
        return self.pinned_points + sum(gain * value for gain, value in zip(self.gains, values, strict=True))

    def keeps(self, values: Sequence[int]) -> bool:
        """Whether these values are a plan: what a solver says is looked at, not believed."""
        within = all(0 <= value <= upper for value, upper in zip(values, self.uppers, strict=True))
        return within and all(row.holds(values) for row in self.rows)

    def rows_of_variables(self) -> list[list[tuple[int, int]]]:
        """For each variable the numbers of its rows, with its factor."""
        found: list[list[tuple[int, int]]] = [[] for _ in self.gains]
        for number, row in enumerate(self.rows):
            for index, factor in row.terms:
                found[index].append((number, factor))
        return found

    def chosen(self, values: Sequence[int]) -> tuple[SlotVariable, ...]:
        """The choices that these values make."""
        return tuple(choice for choice, value in zip(self.choices, values, strict=False) if value)


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """What a solver says of a programme.

    `values` are the best that it found; None for none. `most` is what no plan exceeds; None where it is proved that
    there is no plan at all.
    """

    values: tuple[int, ...] | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Points:
    """What a plan is worth, by weight; travel and fairness take points off."""

    coverage: int = 0
    preference: int = 0
    stability: int = 0
    travel: int = 0
    fairness: int = 0

    @property
    def total(self) -> int:
        """All together."""
        return self.coverage + self.preference + self.stability + self.travel + self.fairness

    def __add__(self, other: "Points") -> "Points":
        """Weight by weight."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in POINTS)
        return Points(*(one + another for one, another in pairs))


POINTS = tuple(Points.__dataclass_fields__)


def choice_points(plan: Plan, slot: Slot, person: Collaborator, current: frozenset[SlotVariable]) -> Points:
    """What one choice is worth by itself; `current` are the choices of the plan as it is now."""
    weights = plan.weights
    return Points(
        coverage=weights.coverage * slot.priority,
        preference=weights.preference * person.prefers(slot.span),
        stability=weights.stability * (SlotVariable(slot.slot_id, person.collaborator_id) in current),
        travel=-weights.travel * plan.travel.minutes(person.home_id, slot.place_id),
    )


def current_choices(plan: Plan) -> frozenset[SlotVariable]:
    """The choices of the plan as it is now."""
    return frozenset(SlotVariable(one.slot_id, one.collaborator_id) for one in plan.assignments)


def plan_points(plan: Plan, choices: Iterable[SlotVariable]) -> Points:
    """What a whole plan is worth. People beyond a slot's headcount, whom somebody has pinned, cover nothing."""
    slots, people = by_id(plan)
    current, total = current_choices(plan), Points()
    covered: dict[UUID, int] = defaultdict(int)
    hours: dict[UUID, int] = defaultdict(int)
    for choice in sorted(choices):
        slot, person = slots[choice.slot_id], people[choice.collaborator_id]
        covered[slot.slot_id] += 1
        hours[person.collaborator_id] += slot.span.hours
        total += choice_points(plan, slot, person, current)
        if covered[slot.slot_id] > slot.headcount:
            total += Points(coverage=-plan.weights.coverage * slot.priority)
    return total + Points(fairness=-plan.weights.fairness * max(hours.values(), default=0))


def by_id(plan: Plan) -> tuple[Mapping[UUID, Slot], Mapping[UUID, Collaborator]]:
    """Slots and people by their ids."""
    slots = {slot.slot_id: slot for slot in plan.slots}
    return slots, {person.collaborator_id: person for person in plan.collaborators}


def pinned_choices(plan: Plan) -> tuple[SlotVariable, ...]:
    """What stands in each proposal."""
    return tuple(SlotVariable(one.slot_id, one.collaborator_id) for one in plan.assignments if one.is_pinned)


@dataclass
class _Builder:
    """Builds the programme of a plan, row by row."""

    plan: Plan
    check: Check
    pinned: frozenset[SlotVariable] = frozenset()
    pinned_in: Mapping[UUID, int] = field(default_factory=dict)
    """How many people are pinned in each slot."""
    engaged: dict[UUID, list[Engagement]] = field(default_factory=dict)
    choices: list[SlotVariable] = field(default_factory=list)
    gains: list[int] = field(default_factory=list)
    of_person: dict[UUID, list[int]] = field(default_factory=lambda: defaultdict(list))
    of_slot: dict[UUID, list[int]] = field(default_factory=lambda: defaultdict(list))
    rows: list[LinearRow] = field(default_factory=list)

    @cached_property
    def slots(self) -> Mapping[UUID, Slot]:
        return by_id(self.plan)[0]

    def build(self) -> Programme:
        plan, pinned = self.plan, pinned_choices(self.plan)
        self.pinned, self.pinned_in = frozenset(pinned), Counter(choice.slot_id for choice in pinned)
        self.engaged = {person: list(ones) for person, ones in committed(plan).items()}
        for choice in pinned:
            self.engaged[choice.collaborator_id].append(engagement(self.slots[choice.slot_id]))
        self._add_choices()
        self._add_headcounts()
        self._add_clashes()
        self._add_hours()
        uppers = [1] * len(self.choices)
        if plan.weights.fairness:
            uppers.append(self._add_largest_share(pinned))
            self.gains.append(-plan.weights.fairness)
        self._check_points()
        points = plan_points(plan, pinned)
        pinned_points = points.total - points.fairness
        return Programme(
            choices=tuple(self.choices),
            gains=tuple(self.gains),
            uppers=tuple(uppers),
            rows=tuple(self.rows),
            pinned_points=pinned_points,
            ceiling=pinned_points + self._best_of_each_slot(),
        )

    def _add_choices(self) -> None:
        people, current = self.plan.collaborators, current_choices(self.plan)
        diaries = [Diary(self.plan, person, self.engaged[person.collaborator_id]) for person in people]
        for slot in self.plan.slots:
            self.check()
            if self._wanted(slot) <= 0:
                continue
            for person, diary in zip(people, diaries, strict=True):
                choice = SlotVariable(slot.slot_id, person.collaborator_id)
                if choice in self.pinned or next(diary.rules_against(slot), None) is not None:
                    continue
                self.of_person[choice.collaborator_id].append(len(self.choices))
                self.of_slot[choice.slot_id].append(len(self.choices))
                self.choices.append(choice)
                self.gains.append(choice_points(self.plan, slot, person, current).total)

    def _wanted(self, slot: Slot) -> int:
        """How many people a slot wants besides those who are pinned in it; below zero where those are too many."""
        return slot.headcount - self.pinned_in.get(slot.slot_id, 0)

    def _add_headcounts(self) -> None:
        for slot in self.plan.slots:
            self._add_row(self._wanted(slot), [(index, 1) for index in self.of_slot[slot.slot_id]])

    def _add_clashes(self) -> None:
        """At most one of the slots that exclude each other, for each person."""
        place = {slot.slot_id: index for index, slot in enumerate(self.plan.slots)}
        excluding, groups = _exclusions(self.plan, self.check), dict[tuple[int, ...], list[tuple[int, ...]]]()
        for person in self.plan.collaborators:
            self.check()
            mine = self.of_person[person.collaborator_id]
            variables = {place[self.choices[index].slot_id]: (index, 1) for index in mine}  # each in many rows
            own = tuple(variables)
            if own not in groups:  # people who can do the same slots have the same groups
                groups[own] = list(_groups(own, excluding))
            for group in groups[own]:
                self._add_row(1, [variables[slot] for slot in group])

    def _add_hours(self) -> None:
        for person in self.plan.collaborators:
            for number, most in enumerate(limits(person)):
                if most is not None:
                    self._add_hours_of(person.collaborator_id, number, most)

    def _add_hours_of(self, person: UUID, number: int, most: int) -> None:
        """The minutes of each day, or of each week, which other engagements have used in part."""
        slots, zone = self.slots, self.plan.zone
        used: dict[str, int] = defaultdict(int)
        for one in self.engaged[person]:
            used[periods(one.span, zone)[number]] += one.span.minutes
        terms: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index in self.of_person[person]:
            span = slots[self.choices[index].slot_id].span
            terms[periods(span, zone)[number]].append((index, span.minutes))
        for period in sorted(terms):
            self._add_row(most - used[period], terms[period])

    def _add_largest_share(self, pinned: Sequence[SlotVariable]) -> int:
        """The last variable is at least the hours of each person; returns the most that it can be."""
        hours: dict[UUID, int] = defaultdict(int)
        for choice in pinned:
            hours[choice.collaborator_id] += self.slots[choice.slot_id].span.hours
        share, most = len(self.choices), 0
        for person in self.plan.collaborators:
            own = self.of_person[person.collaborator_id]
            terms = [(index, self.slots[self.choices[index].slot_id].span.hours) for index in own]
            held = hours[person.collaborator_id]
            most = max(most, held + sum(factor for _, factor in terms))
            if terms or held:
                self.rows.append(LinearRow(-held, (*terms, (share, -1))))
        return most

    def _add_row(self, most: int, terms: Sequence[tuple[int, int]]) -> None:
        if sum(factor for _, factor in terms) > most:  # else it always holds
            self.rows.append(LinearRow(most, tuple(terms)))

    def _best_of_each_slot(self) -> int:
        total = 0
        for slot in self.plan.slots:
            most = max(0, self._wanted(slot))
            gains = sorted((max(0, self.gains[index]) for index in self.of_slot[slot.slot_id]), reverse=True)
            total += sum(gains[:most])
        return total

    def _check_points(self) -> None:
        """Raise `Invalid` where a plan could have so many points that a solver loses some."""
        most = 0
        for slot in self.plan.slots:
            largest = max((abs(self.gains[index]) for index in self.of_slot[slot.slot_id]), default=0)
            most += slot.headcount * (largest + self.plan.weights.fairness * slot.span.hours)
        if most > MOST_POINTS:
            raise Invalid("weights", f"could give a plan {most} points; at most {MOST_POINTS} are counted exactly")


def programme(plan: Plan, check: Check = unchecked) -> Programme:
    """The programme of a plan; raises `Invalid` for one that is too large, or whose points could not be exact."""
    slots, pairs = len(plan.slots), len(plan.slots) * len(plan.collaborators)
    if slots > MOST_SLOTS:
        raise Invalid("slots", f"are {slots}, and {MOST_SLOTS} at most: plan fewer run sheets at once")
    if pairs > MOST_PAIRS:
        raise Invalid("slots", f"times people are {pairs}, and {MOST_PAIRS} at most: plan fewer run sheets at once")
    return _Builder(plan, check).build()


def _exclusions(plan: Plan, check: Check) -> list[int]:
    """For each slot, as bits, the slots that nobody can do besides it: they overlap, or the way is too long."""
    found = [0] * len(plan.slots)
    engagements = [engagement(slot) for slot in plan.slots]
    for earlier, first in enumerate(engagements):
        check()
        for later in range(earlier + 1, len(engagements)):
            second = engagements[later]
            if second.span.starts_at - first.span.ends_at >= REACH:
                break  # slots are in order of their starts
            if first.span.overlaps(second.span) or lacking_minutes(plan, first, second):
                found[earlier] |= 1 << later
                found[later] |= 1 << earlier
    return found


def _groups(own: Sequence[int], excluding: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Slots of which a person can do one at most, as few groups as a greedy search finds, all pairs covered.

    A row for a whole group tells a solver more than a row for each pair: half of each slot keeps all pairs, but not
    the group.
    """
    able = sum(1 << slot for slot in own)
    uncovered = {slot: excluding[slot] & able for slot in own}
    for slot in own:
        while later := uncovered[slot] >> slot << slot:
            group, common = [slot], excluding[slot] & able
            wanted = later
            while wanted & common:
                chosen = _lowest(wanted & common)
                group.append(chosen)
                common &= excluding[chosen]
                wanted = common
            for one in group:
                uncovered[one] &= ~sum(1 << other for other in group)
            yield tuple(sorted(group))


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
