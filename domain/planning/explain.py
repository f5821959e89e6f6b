"""Why a plan is as it is: for each slot the people in it, everybody else with a reason, and why it is open."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.planning.conflicts import (
    ConflictKind,
    Diary,
    PlanConflict,
    committed,
    engagement,
    find_conflicts,
    words,
)
from domain.planning.model import Assignment, Collaborator, Plan, Slot
from domain.planning.programme import (
    Points,
    SlotVariable,
    by_id,
    choice_points,
    current_choices,
    pinned_choices,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A person for a slot, as the rest of the plan stands.

    `against` is the first rule that forbids it. Without one, `loses` is by how many points the plan is worse with the
    person in the slot: in a place that is open, else in the place of somebody who is not pinned.
    """

    collaborator_id: UUID
    is_chosen: bool
    points: Points
    against: PlanConflict | None = None
    loses: int = 0


@dataclass(frozen=True, slots=True)
class SlotExplanation:
    """A slot with its candidates, the chosen first, then the nearest; `why_open` counts what keeps the others away."""

    slot_id: UUID
    open_places: int
    candidates: tuple[Candidate, ...]
    why_open: str = ""


def explain(plan: Plan, choices: Iterable[SlotVariable]) -> Iterator[SlotExplanation]:
    """The reasons of a plan, slot by slot: all candidates of all slots together are too many to hold."""
    return _Reasons(plan, frozenset(choices)).explain()


def kept_conflicts(plan: Plan, choices: Iterable[SlotVariable]) -> Iterator[PlanConflict]:
    """The rules that a plan breaks, because somebody pinned what breaks them."""
    return find_conflicts(plan, [Assignment(one.slot_id, one.collaborator_id) for one in choices])


class _Reasons:
    """The reasons of one plan."""

    def __init__(self, plan: Plan, choices: frozenset[SlotVariable]) -> None:
        self._plan, self._choices = plan, choices
        self._slots, self._people = by_id(plan)
        self._current, self._pinned = current_choices(plan), frozenset(pinned_choices(plan))
        engaged = {who: list(ones) for who, ones in committed(plan).items()}
        self._hours: dict[UUID, int] = defaultdict(int)
        for choice in sorted(choices):
            slot = self._slots[choice.slot_id]
            engaged[choice.collaborator_id].append(engagement(slot))
            self._hours[choice.collaborator_id] += slot.span.hours
        self._diaries = {who: Diary(plan, self._people[who], ones) for who, ones in engaged.items()}
        # Where two people change hours, one of the first three has the most of all others.
        self._longest = sorted(self._hours.items(), key=lambda one: -one[1])[:3]

    def explain(self) -> Iterator[SlotExplanation]:
        chosen: dict[UUID, list[UUID]] = defaultdict(list)
        for choice in sorted(self._choices):
            chosen[choice.slot_id].append(choice.collaborator_id)
        for slot in self._plan.slots:
            yield self._explain_slot(slot, chosen[slot.slot_id])

    def _explain_slot(self, slot: Slot, chosen: Sequence[UUID]) -> SlotExplanation:
        open_places = max(0, slot.headcount - len(chosen))
        candidates = [self._chosen(slot, self._people[who]) for who in chosen]
        leaving = self._leaving(slot, candidates)
        inside = frozenset(chosen)
        candidates += [
            self._other(slot, person, None if open_places else leaving)
            for person in self._plan.collaborators
            if person.collaborator_id not in inside
        ]
        candidates.sort(key=self._order)
        why = why_open(candidates) if open_places else ""
        return SlotExplanation(slot.slot_id, open_places, tuple(candidates), why)

    def _leaving(self, slot: Slot, chosen: Sequence[Candidate]) -> Mapping[UUID, int]:
        """The points of who could leave a slot for another: of those whose hours change no maximum the cheapest."""
        free = [one for one in chosen if SlotVariable(slot.slot_id, one.collaborator_id) not in self._pinned]
        longest = {who for who, _ in self._longest}
        kept = [one for one in free if one.collaborator_id in longest]
        others = [one for one in free if one.collaborator_id not in longest]
        cheapest = min(others, key=lambda one: one.points.total, default=None)
        return {one.collaborator_id: one.points.total for one in (*kept, cheapest) if one is not None}

    def _order(self, candidate: Candidate) -> tuple[bool, bool, int, str, UUID]:
        name = self._people[candidate.collaborator_id].name
        forbidden = candidate.against is not None and not candidate.is_chosen
        nearest = -candidate.points.total if candidate.is_chosen else candidate.loses
        return not candidate.is_chosen, forbidden, nearest, name, candidate.collaborator_id

    def _chosen(self, slot: Slot, person: Collaborator) -> Candidate:
        against = self._rule_against(slot, person)  # of a pinned choice alone
        return Candidate(person.collaborator_id, is_chosen=True, points=self._points(slot, person), against=against)

    def _other(self, slot: Slot, person: Collaborator, leaving: Mapping[UUID, int] | None) -> Candidate:
        """A person who is not in the slot; `leaving` has the points of those who could make room, None if there is."""
        who, points = person.collaborator_id, self._points(slot, person)
        against = self._rule_against(slot, person)
        if against is not None:
            return Candidate(who, is_chosen=False, points=points, against=against)
        if leaving is None:
            costs = self._unfairer(slot, who, None)
        elif leaving:
            costs = min(self._unfairer(slot, who, leaves) + left for leaves, left in leaving.items())
        else:  # nobody may leave
            costs = 2 * points.total
        return Candidate(who, is_chosen=False, points=points, loses=costs - points.total)

    def _rule_against(self, slot: Slot, person: Collaborator) -> PlanConflict | None:
        return next(self._diaries[person.collaborator_id].rules_against(slot), None)

    def _points(self, slot: Slot, person: Collaborator) -> Points:
        return choice_points(self._plan, slot, person, self._current)

    def _unfairer(self, slot: Slot, enters: UUID, leaves: UUID | None) -> int:
        """By how many points fairness costs more when one person enters a slot and another leaves it."""
        largest = self._longest[0][1] if self._longest else 0
        others = next((hours for who, hours in self._longest if who not in {enters, leaves}), 0)
        entered = self._hours.get(enters, 0) + slot.span.hours
        left = 0 if leaves is None else self._hours[leaves] - slot.span.hours
        return self._plan.weights.fairness * (max(others, entered, left) - largest)


OPEN = {
    ConflictKind.SKILL: "lack a skill",
    ConflictKind.AVAILABILITY: "are not available",
    ConflictKind.OVERLAP: "are somewhere else then",
    ConflictKind.TRAVEL: "are too far away before or after",
    ConflictKind.HOURS: "have no hours left",
}


def why_open(candidates: Iterable[Candidate]) -> str:
    """Why a place of a slot is open, as one line."""
    others = [one for one in candidates if not one.is_chosen]
    counts = Counter(one.against.kind if one.against else None for one in others)
    if not others:
        return "nobody else is there"
    said = [f"{counts[kind]} {meaning}" for kind, meaning in OPEN.items() if counts[kind]]
    if counts[None]:
        said.append(f"{counts[None]} would cost more points than they bring")
    return ", ".join(said)


def describe(plan: Plan, explanations: Iterable[SlotExplanation], most: int) -> Iterator[JsonObject]:
    """The explanations as JSON, with names: of each slot so many candidates, and how many others there are."""
    slots, people = by_id(plan)
    for one in explanations:
        yield {
            "slot_id": str(one.slot_id),
            "slot": slots[one.slot_id].name,
            "open_places": one.open_places,
            "why_open": one.why_open,
            "candidates": [_described(slots, people, candidate) for candidate in one.candidates[:most]],
            "others": max(0, len(one.candidates) - most),
        }


def _described(slots: Mapping[UUID, Slot], people: Mapping[UUID, Collaborator], candidate: Candidate) -> JsonObject:
    forbidden = candidate.against is not None and not candidate.is_chosen
    return {
        "collaborator_id": str(candidate.collaborator_id),
        "collaborator": people[candidate.collaborator_id].name,
        "is_chosen": candidate.is_chosen,
        "points": candidate.points.total,
        "rule": None if candidate.against is None else candidate.against.kind.value,
        "why": "" if candidate.against is None else words(candidate.against, slots, people),
        "loses": None if forbidden or candidate.is_chosen else candidate.loses,
    }
