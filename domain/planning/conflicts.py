"""What a conflict is: five rules that a person's slots may break, and how to say so."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from domain.planning.model import MINUTE, Assignment, Collaborator, Plan, Slot, Span

NAMESPACE = UUID("6ba0ff4e-2e1c-4c3c-9a38-53f0b3b1a0c5")
"""A random constant, so that a conflict has the same id in each scan that finds it (RFC 9562 section 5.5)."""


class ConflictKind(StrEnum):
    """The rules, in the order in which they are asked."""

    SKILL = "skill"
    """The person lacks a skill that the slot needs."""
    AVAILABILITY = "availability"
    """The person is not available all the time."""
    OVERLAP = "overlap"
    """The person is in two places at once."""
    TRAVEL = "travel"
    """The way from the end of a slot to the start of another takes longer than the time between them."""
    HOURS = "hours"
    """The person works more minutes of a day or of a week than is allowed."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One broken rule.

    `detail` tells conflicts of the same slots apart: the missing skills, the start of what the person does in another
    project, the day or week. `minutes` are those that a way lacks, or that are too many.
    """

    kind: ConflictKind
    collaborator_id: UUID
    slot_ids: tuple[UUID, ...]
    detail: str = ""
    minutes: int = 0

    @property
    def conflict_id(self) -> UUID:
        """The same in each scan: of too many hours it does not depend on which slots they are."""
        slots = () if self.kind is ConflictKind.HOURS else sorted(self.slot_ids)
        return uuid5(NAMESPACE, "\n".join(map(str, (self.kind, self.collaborator_id, self.detail, *slots))))


@dataclass(frozen=True, slots=True)
class Engagement:
    """What a person does at a time: a slot, or a commitment of another project, which has no slot's id."""

    span: Span
    place_id: UUID | None
    slot_id: UUID | None = None


def engagement(slot: Slot) -> Engagement:
    """A slot as somebody's engagement."""
    return Engagement(slot.span, slot.place_id, slot.slot_id)


def committed(plan: Plan) -> Mapping[UUID, tuple[Engagement, ...]]:
    """What each person does in other projects."""
    found: dict[UUID, list[Engagement]] = defaultdict(list)
    for one in plan.commitments:
        found[one.collaborator_id].append(Engagement(one.span, one.place_id))
    return {person.collaborator_id: tuple(found[person.collaborator_id]) for person in plan.collaborators}


def find_conflicts(plan: Plan, assignments: Iterable[Assignment]) -> tuple[Conflict, ...]:
    """Every broken rule of these assignments, person by person."""
    slots = {slot.slot_id: slot for slot in plan.slots}
    given: dict[UUID, list[Slot]] = defaultdict(list)
    for one in sorted(assignments):
        given[one.collaborator_id].append(slots[one.slot_id])
    elsewhere = committed(plan)
    return tuple(
        conflict
        for person in plan.collaborators
        for conflict in _conflicts_of(plan, person, given[person.collaborator_id], elsewhere[person.collaborator_id])
    )


def _conflicts_of(
    plan: Plan, person: Collaborator, slots: Sequence[Slot], elsewhere: Sequence[Engagement]
) -> Iterator[Conflict]:
    own = sorted(map(engagement, slots), key=lambda engaged: engaged.span)
    for slot in slots:
        yield from _own_rules(person, slot)
    for one, other in combinations(own, 2):
        yield from clash(plan, person, one, other)
    for one in own:
        for other in elsewhere:
            yield from clash(plan, person, one, other)
    yield from _too_many_hours(plan, person, [*own, *elsewhere])


def rules_against(
    plan: Plan, person: Collaborator, slot: Slot, engagements: Sequence[Engagement]
) -> Iterator[Conflict]:
    """The rules that a slot would break if a person had it besides these engagements, as they are asked."""
    yield from _own_rules(person, slot)
    found = [conflict for other in engagements for conflict in clash(plan, person, engagement(slot), other)]
    yield from sorted(found, key=lambda conflict: conflict.kind is not ConflictKind.OVERLAP)
    for conflict in _too_many_hours(plan, person, [*engagements, engagement(slot)]):
        if slot.slot_id in conflict.slot_ids:
            yield conflict


def _own_rules(person: Collaborator, slot: Slot) -> Iterator[Conflict]:
    missing = slot.skills - person.skills
    if missing:
        detail = ", ".join(sorted(missing))
        yield Conflict(ConflictKind.SKILL, person.collaborator_id, (slot.slot_id,), detail)
    if not person.is_free(slot.span):
        yield Conflict(ConflictKind.AVAILABILITY, person.collaborator_id, (slot.slot_id,))


def clash(plan: Plan, person: Collaborator, one: Engagement, other: Engagement) -> Iterator[Conflict]:
    """What keeps a person from two engagements: they overlap, or the way is longer than the time between."""
    first, second = sorted((one, other), key=lambda engaged: engaged.span)
    slot_ids = tuple(engaged.slot_id for engaged in (first, second) if engaged.slot_id is not None)
    detail = next((each.span.starts_at.isoformat() for each in (first, second) if each.slot_id is None), "")
    if first.span.overlaps(second.span):
        yield Conflict(ConflictKind.OVERLAP, person.collaborator_id, slot_ids, detail)
    elif lacking := lacking_minutes(plan, first, second):
        yield Conflict(ConflictKind.TRAVEL, person.collaborator_id, slot_ids, detail, lacking)


def lacking_minutes(plan: Plan, first: Engagement, second: Engagement) -> int:
    """By how much the way to the second of two engagements is longer than the time between them; 0 if it is not.

    All pairs count, not neighbours alone: a slot in between may be on neither way.
    """
    between = (second.span.starts_at - first.span.ends_at) // MINUTE
    return max(0, plan.travel.minutes(first.place_id, second.place_id) - between)


def periods(span: Span, zone: ZoneInfo) -> tuple[str, str]:
    """The day and the week, by the clocks of a zone, in which a span counts: those in which it begins."""
    day = span.starts_at.astimezone(zone).date()
    year, week, _ = day.isocalendar()
    return day.isoformat(), f"{year}-W{week:02}"


def limits(person: Collaborator) -> tuple[int | None, int | None]:
    """The most minutes of a day and of a week."""
    return person.most_minutes_a_day, person.most_minutes_a_week


def _too_many_hours(plan: Plan, person: Collaborator, engagements: Sequence[Engagement]) -> Iterator[Conflict]:
    for index, most in enumerate(limits(person)):
        worked: dict[str, list[Engagement]] = defaultdict(list)
        for one in engagements if most is not None else ():
            worked[periods(one.span, plan.zone)[index]].append(one)
        for period, ones in sorted(worked.items()):
            over = sum(one.span.minutes for one in ones) - (most or 0)
            slot_ids = tuple(one.slot_id for one in sorted(ones, key=lambda one: one.span) if one.slot_id is not None)
            if over > 0 and slot_ids:
                yield Conflict(ConflictKind.HOURS, person.collaborator_id, slot_ids, period, over)


def words(conflict: Conflict, plan: Plan) -> str:
    """The conflict as a sentence, with the names of the plan."""
    slots = {slot.slot_id: slot.name for slot in plan.slots}
    who = next(one.name for one in plan.collaborators if one.collaborator_id == conflict.collaborator_id)
    names = [slots[slot_id] for slot_id in conflict.slot_ids]
    other = names[1] if len(names) > 1 else f"another project (from {conflict.detail})"
    match conflict.kind:
        case ConflictKind.SKILL:
            return f"{who} lacks for {names[0]}: {conflict.detail}"
        case ConflictKind.AVAILABILITY:
            return f"{who} is not available for all of {names[0]}"
        case ConflictKind.OVERLAP:
            return f"{who} is in {names[0]} and in {other} at once"
        case ConflictKind.TRAVEL:
            return f"{who} lacks {conflict.minutes} minutes for the way between {names[0]} and {other}"
        case ConflictKind.HOURS:
            return f"{who} works {conflict.minutes} minutes too many in {conflict.detail}: {', '.join(names)}"
