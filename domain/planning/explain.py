"""Why a plan is as it is: for each slot the people in it, everybody else with a reason, and why it is open."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.planning.conflicts import (
    Conflict,
    ConflictKind,
    Engagement,
    committed,
    engagement,
    find_conflicts,
    rules_against,
    words,
)
from domain.planning.model import Assignment, Collaborator, Plan, Slot
from domain.planning.programme import (
    Choice,
    Points,
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
    against: Conflict | None = None
    loses: int = 0


@dataclass(frozen=True, slots=True)
class SlotExplanation:
    """A slot with its candidates, the chosen first, then the nearest; `why_open` counts what keeps the others away."""

    slot_id: UUID
    open_places: int
    candidates: tuple[Candidate, ...]
    why_open: str = ""


def explain(plan: Plan, choices: Iterable[Choice]) -> tuple[SlotExplanation, ...]:
    """The reasons of a plan, slot by slot."""
    return _Reasons(plan, frozenset(choices)).explain()


def kept_conflicts(plan: Plan, choices: Iterable[Choice]) -> tuple[Conflict, ...]:
    """The rules that a plan breaks, because somebody pinned what breaks them."""
    return find_conflicts(plan, [Assignment(one.slot_id, one.collaborator_id) for one in choices])


class _Reasons:
    """The reasons of one plan."""

    def __init__(self, plan: Plan, choices: frozenset[Choice]) -> None:
        self._plan, self._choices = plan, choices
        self._slots, self._people = by_id(plan)
        self._current, self._pinned = current_choices(plan), frozenset(pinned_choices(plan))
        self._engaged: dict[UUID, list[Engagement]] = {who: list(ones) for who, ones in committed(plan).items()}
        self._hours: dict[UUID, int] = defaultdict(int)
        for choice in sorted(choices):
            slot = self._slots[choice.slot_id]
            self._engaged[choice.collaborator_id].append(engagement(slot))
            self._hours[choice.collaborator_id] += slot.span.hours

    def explain(self) -> tuple[SlotExplanation, ...]:
        chosen: dict[UUID, list[UUID]] = defaultdict(list)
        for choice in sorted(self._choices):
            chosen[choice.slot_id].append(choice.collaborator_id)
        return tuple(self._explain_slot(slot, chosen[slot.slot_id]) for slot in self._plan.slots)

    def _explain_slot(self, slot: Slot, chosen: Sequence[UUID]) -> SlotExplanation:
        open_places = max(0, slot.headcount - len(chosen))
        candidates = [
            self._chosen(slot, person)
            if person.collaborator_id in chosen
            else self._other(slot, person, chosen, open_places)
            for person in self._plan.collaborators
        ]
        candidates.sort(key=self._order)
        why = why_open(candidates) if open_places else ""
        return SlotExplanation(slot.slot_id, open_places, tuple(candidates), why)

    def _order(self, candidate: Candidate) -> tuple[bool, bool, int, str, UUID]:
        name = self._people[candidate.collaborator_id].name
        forbidden = candidate.against is not None and not candidate.is_chosen
        nearest = -candidate.points.total if candidate.is_chosen else candidate.loses
        return not candidate.is_chosen, forbidden, nearest, name, candidate.collaborator_id

    def _chosen(self, slot: Slot, person: Collaborator) -> Candidate:
        others = [one for one in self._engaged[person.collaborator_id] if one.slot_id != slot.slot_id]
        against = next(rules_against(self._plan, person, slot, others), None)  # of a pinned choice alone
        return Candidate(person.collaborator_id, is_chosen=True, points=self._points(slot, person), against=against)

    def _other(self, slot: Slot, person: Collaborator, chosen: Sequence[UUID], open_places: int) -> Candidate:
        who, points = person.collaborator_id, self._points(slot, person)
        against = next(rules_against(self._plan, person, slot, self._engaged[who]), None)
        if against is not None:
            return Candidate(who, is_chosen=False, points=points, against=against)
        if open_places:
            return Candidate(who, is_chosen=False, points=points, loses=self._lost(slot, who, None))
        free = [one for one in chosen if Choice(slot.slot_id, one) not in self._pinned]
        loses = min((self._lost(slot, who, one) for one in free), default=points.total)
        return Candidate(who, is_chosen=False, points=points, loses=loses)

    def _points(self, slot: Slot, person: Collaborator) -> Points:
        return choice_points(self._plan, slot, person, self._current)

    def _lost(self, slot: Slot, enters: UUID, leaves: UUID | None) -> int:
        """By how many points the plan is worse when one person enters a slot and another leaves it."""
        hours = dict(self._hours)
        largest = max(hours.values(), default=0)
        hours[enters] = hours.get(enters, 0) + slot.span.hours
        gained = self._points(slot, self._people[enters]).total
        if leaves is not None:
            hours[leaves] -= slot.span.hours
            gained -= self._points(slot, self._people[leaves]).total
        return self._plan.weights.fairness * (max(hours.values()) - largest) - gained


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


def describe(plan: Plan, explanations: Iterable[SlotExplanation]) -> list[dict[str, object]]:
    """The explanations as JSON, with names, for the artifact that people read."""
    slots, people = by_id(plan)
    return [
        {
            "slot_id": str(one.slot_id),
            "slot": slots[one.slot_id].name,
            "open_places": one.open_places,
            "why_open": one.why_open,
            "candidates": [_described(plan, people, candidate) for candidate in one.candidates],
        }
        for one in explanations
    ]


def _described(plan: Plan, people: Mapping[UUID, Collaborator], candidate: Candidate) -> dict[str, object]:
    forbidden = candidate.against is not None and not candidate.is_chosen
    return {
        "collaborator_id": str(candidate.collaborator_id),
        "collaborator": people[candidate.collaborator_id].name,
        "is_chosen": candidate.is_chosen,
        "points": candidate.points.total,
        "rule": None if candidate.against is None else candidate.against.kind.value,
        "why": "" if candidate.against is None else words(candidate.against, plan),
        "loses": None if forbidden or candidate.is_chosen else candidate.loses,
    }
