"""Plans for tests: small ones by chance, large ones in five shapes, and the best plans by trying all."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from random import Random
from uuid import UUID

from domain.planning.conflicts import find_conflicts
from domain.planning.model import (
    Assignment,
    Availability,
    AvailabilityKind,
    Collaborator,
    Commitment,
    Plan,
    Slot,
    Span,
    Weights,
)
from domain.planning.programme import SlotVariable
from domain.planning.travel import Place, Travel

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def at(hours: float) -> datetime:
    """So many hours after the beginning of a Monday."""
    return MONDAY + timedelta(hours=hours)


def span(start: float, end: float) -> Span:
    return Span(at(start), at(end))


def slot_id(number: int) -> UUID:
    return UUID(int=1_000 + number)


def person_id(number: int) -> UUID:
    return UUID(int=2_000 + number)


def place_id(number: int) -> UUID:
    return UUID(int=3_000 + number)


def slot(number: int, start: float, end: float, **facts: object) -> Slot:
    return Slot(slot_id(number), f"slot {number}", span(start, end), **facts)  # type: ignore[arg-type]  # by name


def person(number: int, **facts: object) -> Collaborator:
    return Collaborator(person_id(number), f"person {number}", **facts)  # type: ignore[arg-type]  # by name


def given(slot_number: int, person_number: int, *, is_pinned: bool = False) -> Assignment:
    return Assignment(slot_id(slot_number), person_id(person_number), is_pinned)


def choice(slot_number: int, person_number: int) -> SlotVariable:
    return SlotVariable(slot_id(slot_number), person_id(person_number))


def places(*minutes: tuple[int, int, int]) -> Travel:
    """Three places, and the minutes between some, there and back."""
    table: dict[UUID, dict[UUID, int]] = {}
    for one, other, told in minutes:
        table.setdefault(place_id(one), {})[place_id(other)] = told
        table.setdefault(place_id(other), {})[place_id(one)] = told
    return Travel(tuple(Place(place_id(number), f"place {number}") for number in range(3)), table)


def small_plan(seed: int) -> Plan:
    """A plan of at most 7 slots and 5 people, with everything that a plan can have."""
    chance = Random(seed)  # noqa: S311 - the same plan for the same seed is wanted
    skills = ("rigging", "sound")
    somewhere: list[UUID | None] = [None, *(place_id(number) for number in range(3))]
    slots = []
    for number in range(chance.randint(1, 7)):
        start = chance.choice([0, 4, 8, 9, 10, 12, 24, 30])
        facts = {
            "place_id": chance.choice(somewhere),
            "skills": frozenset(skill for skill in skills if chance.random() < 0.2),
            "headcount": 1 + (chance.random() < 0.15),
            "priority": chance.choice([1, 1, 1, 2, 5]),
        }
        slots.append(slot(number, start, start + chance.choice([0.5, 1, 2, 3.25, 5]), **facts))
    people = tuple(_small_person(chance, number, skills, somewhere) for number in range(chance.randint(1, 5)))
    assignments = tuple(
        Assignment(one.slot_id, chance.choice(people).collaborator_id, is_pinned=chance.random() < 0.3)
        for one in slots
        if chance.random() < 0.3
    )
    busy = (Commitment(people[0].collaborator_id, span(8, 10), place_id(1)),) if chance.random() < 0.3 else ()
    table = [(0, 1, chance.choice([0, 30, 90])), (0, 2, chance.choice([0, 45])), (1, 2, 240)]
    weights = Weights(*(chance.choice([0, 1, 7, 20, 50]) for _ in range(5)))
    return Plan(tuple(slots), people, assignments, busy, places(*table), weights=weights)


def _small_person(chance: Random, number: int, skills: Sequence[str], homes: Sequence[UUID | None]) -> Collaborator:
    said = [
        Availability(span(start, start + chance.choice([4, 12, 30])), chance.choice(list(AvailabilityKind)))
        for start in (0, 6, 10)
        if chance.random() < 0.4
    ]
    return person(
        number,
        skills=frozenset(skill for skill in skills if chance.random() < 0.6),
        availabilities=tuple(said),
        home_id=chance.choice(homes),
        most_minutes_a_day=chance.choice([None, None, 180, 480]),
        most_minutes_a_week=chance.choice([None, 600]),
    )


def best_by_trying(plan: Plan) -> tuple[int, set[frozenset[SlotVariable]]]:
    """The most points of any plan, and all plans that have them, by trying every plan."""
    best, found = None, set[frozenset[SlotVariable]]()
    for choices in _every_plan(plan):
        points = _points(plan, choices)
        if best is None or points > best:
            best, found = points, set()
        if points == best:
            found.add(frozenset(choices))
    assert best is not None
    return best, found


def _every_plan(plan: Plan) -> Iterator[tuple[SlotVariable, ...]]:
    """Every set of choices that breaks no rule which the pinned ones do not break by themselves."""
    pinned = tuple(one for one in plan.assignments if one.is_pinned)
    tolerated = set(find_conflicts(plan, pinned))

    def fits(*choices: SlotVariable) -> bool:
        more = [Assignment(one.slot_id, one.collaborator_id) for one in choices]
        return set(find_conflicts(plan, [*pinned, *more])) <= tolerated

    stands = tuple(SlotVariable(one.slot_id, one.collaborator_id) for one in pinned)
    groups = []
    for one in plan.slots:
        left = one.headcount - sum(choice.slot_id == one.slot_id for choice in stands)
        able = [SlotVariable(one.slot_id, who.collaborator_id) for who in plan.collaborators]
        free = [choice for choice in able if choice not in stands and fits(choice)]
        groups.append([group for size in range(max(0, left) + 1) for group in combinations(free, size)])
    every = {choice for found in groups for group in found for choice in group}
    excluded = {
        frozenset(pair)
        for pair in combinations(sorted(every), 2)
        if pair[0].collaborator_id == pair[1].collaborator_id and not fits(*pair)
    }
    for chosen in _combined(groups, excluded):
        if fits(*chosen):
            yield (*stands, *chosen)


def _combined(
    groups: Sequence[Sequence[tuple[SlotVariable, ...]]], excluded: set[frozenset[SlotVariable]]
) -> Iterator[tuple[SlotVariable, ...]]:
    """One group of each slot, where no two choices exclude each other."""
    if not groups:
        yield ()
        return
    for chosen in _combined(groups[:-1], excluded):
        for group in groups[-1]:
            if not any(frozenset((new, old)) in excluded for new in group for old in chosen):
                yield (*chosen, *group)


def _points(plan: Plan, choices: Sequence[SlotVariable]) -> int:
    weights, now = plan.weights, {(one.slot_id, one.collaborator_id) for one in plan.assignments}
    slots = {one.slot_id: one for one in plan.slots}
    people = {one.collaborator_id: one for one in plan.collaborators}
    total, hours = 0, dict.fromkeys(people, 0)
    for one in plan.slots:
        inside = sum(choice.slot_id == one.slot_id for choice in choices)
        total += weights.coverage * one.priority * min(inside, one.headcount)
    for choice in choices:
        where, who = slots[choice.slot_id], people[choice.collaborator_id]
        total += weights.stability * ((choice.slot_id, choice.collaborator_id) in now)
        total -= weights.travel * plan.travel.minutes(who.home_id, where.place_id)
        total += weights.preference * _likes(who, where)
        hours[choice.collaborator_id] += -(-where.span.minutes // 60)
    return total - weights.fairness * max(hours.values())


def _likes(who: Collaborator, where: Slot) -> bool:
    """Whether each minute of a slot lies in a time that the person prefers."""
    liked = [one.span for one in who.availabilities if one.kind is AvailabilityKind.PREFERRED]
    minutes = (where.span.starts_at + timedelta(minutes=number) for number in range(where.span.minutes))
    return all(any(one.starts_at <= minute < one.ends_at for one in liked) for minute in minutes)


SHAPES: Mapping[str, dict[str, float]] = {
    "sparse": {"able": 0.2, "days": 14, "headcount": 1, "limit": 600},
    "dense": {"able": 0.9, "days": 14, "headcount": 2, "limit": 600},
    "tight": {"able": 0.5, "days": 3, "headcount": 1, "limit": 300},
    "impossible": {"able": 0.3, "days": 7, "headcount": 2, "limit": 480, "nobody": 0.3},
    "alike": {"able": 1.0, "days": 7, "headcount": 1, "limit": 600},
}
"""Large plans: who can do how many slots, over how many days, people in a slot, minutes of a day; slots for nobody."""


def large_plan(shape: str, slots: int = 200, people: int = 100, seed: int = 1) -> Plan:
    """A plan of one of the shapes, with three skills, travel, preferences, kept assignments and hours."""
    facts, chance = SHAPES[shape], Random(seed)  # noqa: S311 - the same plan for the same seed is wanted
    skills = ("rigging", "sound", "light")
    is_alike = shape == "alike"
    hours = int(facts["days"] * 24)
    made = []
    for number in range(slots):
        start = chance.randrange(hours)
        made.append(
            slot(
                number,
                start,
                start + chance.choice([1, 2, 3, 4]),
                place_id=None if is_alike else place_id(chance.randrange(3)),
                skills=frozenset() if is_alike else frozenset([_wanted(chance, facts, skills)]),
                headcount=chance.randint(1, int(facts["headcount"])),
                priority=1 if is_alike else chance.choice([1, 1, 2, 3]),
            )
        )
    crew = tuple(_crew(chance, number, facts, skills, is_alike=is_alike) for number in range(people))
    kept = (
        ()
        if is_alike
        else tuple(
            Assignment(one.slot_id, chance.choice(crew).collaborator_id) for one in chance.sample(made, slots * 3 // 10)
        )
    )
    return Plan(tuple(made), crew, kept, travel=places((0, 1, 30), (0, 2, 60), (1, 2, 45)))


def _wanted(chance: Random, facts: Mapping[str, float], skills: Sequence[str]) -> str:
    return "fireworks" if chance.random() < facts.get("nobody", 0) else chance.choice(skills)


def _crew(
    chance: Random, number: int, facts: Mapping[str, float], skills: Sequence[str], *, is_alike: bool
) -> Collaborator:
    if is_alike:
        return person(number, skills=frozenset(skills), most_minutes_a_day=int(facts["limit"]))
    days, kinds = int(facts["days"]), (AvailabilityKind.AVAILABLE, AvailabilityKind.PREFERRED)
    said = [
        Availability(span(day * 24 + half, day * 24 + half + 16), chance.choice(kinds))
        for day in range(days)
        for half in (0, 12)
        if chance.random() < facts["able"]
    ]
    return person(
        number,
        skills=frozenset(skill for skill in skills if chance.random() < max(0.34, facts["able"])),
        availabilities=tuple(said) or (Availability(span(0, 1)),),
        home_id=place_id(chance.randrange(3)),
        most_minutes_a_day=int(facts["limit"]),
        most_minutes_a_week=int(facts["limit"] * 4),
    )
