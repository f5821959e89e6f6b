"""What a conflict is: five rules that a person's slots may break, and how to say so."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, islice
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from domain.planning.model import MINUTE, Assignment, Collaborator, Plan, Slot, Span
from domain.planning.travel import MOST_MINUTES

NAMESPACE = UUID("6ba0ff4e-2e1c-4c3c-9a38-53f0b3b1a0c5")
"""A random constant, so that a conflict has the same id in each scan that finds it (RFC 9562 section 5.5)."""
MOST_NAMED = 10
"""Slots that the sentence of a conflict names: a person may have hundreds in a week."""
REACH = MOST_MINUTES * MINUTE
"""Slots that are further apart do not clash: no way takes longer."""


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
class PlanConflict:
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


def find_conflicts(plan: Plan, assignments: Iterable[Assignment]) -> Iterator[PlanConflict]:
    """Every broken rule of these assignments, person by person."""
    slots = {slot.slot_id: slot for slot in plan.slots}
    given: dict[UUID, list[Slot]] = defaultdict(list)
    for one in sorted(assignments):
        given[one.collaborator_id].append(slots[one.slot_id])
    elsewhere = committed(plan)
    for person in plan.collaborators:
        own = given[person.collaborator_id]
        for slot in own:
            yield from _own_rules(person, slot)
        diary = Diary(plan, person, [*map(engagement, own), *elsewhere[person.collaborator_id]])
        yield from diary.conflicts()


class Diary:
    """What a person does, in order: a slot is compared with what is near it in time, not with everything."""

    def __init__(self, plan: Plan, person: Collaborator, engagements: Iterable[Engagement]) -> None:
        """Put it in order."""
        self._plan, self._person = plan, person
        self._engaged = sorted(engagements, key=lambda engaged: engaged.span)
        self._starts = [engaged.span.starts_at for engaged in self._engaged]
        self._ended = list(accumulate((engaged.span.ends_at for engaged in self._engaged), max))
        self._worked: tuple[dict[str, list[Engagement]], ...] = tuple(defaultdict(list) for _ in limits(person))
        for engaged in self._engaged:
            for worked, period in zip(self._worked, self._periods(engaged), strict=True):
                if period is not None:
                    worked[period].append(engaged)

    def conflicts(self) -> Iterator[PlanConflict]:
        """What clashes, of two engagements that are not both elsewhere; and too many hours."""
        for index, one in enumerate(self._engaged):
            for other in islice(self._engaged, index + 1, self._begun_near(one.span)):
                if one.slot_id is not None or other.slot_id is not None:
                    yield from clash(self._plan, self._person, one, other)
        for worked, most in zip(self._worked, limits(self._person), strict=True):
            for period, ones in sorted(worked.items()):
                yield from self._over(period, most, ones)

    def rules_against(self, slot: Slot) -> Iterator[PlanConflict]:
        """The rules that a slot would break if the person had it besides all else, as they are asked."""
        yield from _own_rules(self._person, slot)
        own = engagement(slot)
        for are_at_once in (True, False):
            for other in islice(self._engaged, self._ended_before(slot.span), self._begun_near(slot.span)):
                if other.slot_id != slot.slot_id and other.span.overlaps(slot.span) is are_at_once:
                    yield from clash(self._plan, self._person, own, other)
        for worked, most, period in zip(self._worked, limits(self._person), self._periods(own), strict=True):
            if period is not None:
                besides = [one for one in worked.get(period, ()) if one.slot_id != slot.slot_id]
                yield from self._over(period, most, [*besides, own])

    def _periods(self, engaged: Engagement) -> tuple[str | None, ...]:
        """The day and the week in which an engagement counts, each where the person has a limit."""
        wanted = limits(self._person)
        if wanted == (None, None):
            return (None, None)
        names = periods(engaged.span, self._plan.zone)
        return tuple(name if most is not None else None for name, most in zip(names, wanted, strict=True))

    def _ended_before(self, span: Span) -> int:
        """How many, from the first on, have all ended before the reach of a time."""
        return bisect_right(self._ended, span.starts_at - REACH)

    def _begun_near(self, span: Span) -> int:
        """How many begin before the end of the reach of a time."""
        return bisect_left(self._starts, span.ends_at + REACH)

    def _over(self, period: str, most: int | None, ones: Sequence[Engagement]) -> Iterator[PlanConflict]:
        over = sum(one.span.minutes for one in ones) - (most or 0)
        if over > 0:
            ordered = sorted(ones, key=lambda one: one.span)
            slot_ids = tuple(one.slot_id for one in ordered if one.slot_id is not None)
            if slot_ids:
                yield PlanConflict(ConflictKind.HOURS, self._person.collaborator_id, slot_ids, period, over)


def _own_rules(person: Collaborator, slot: Slot) -> Iterator[PlanConflict]:
    missing = slot.skills - person.skills
    if missing:
        detail = ", ".join(sorted(missing))
        yield PlanConflict(ConflictKind.SKILL, person.collaborator_id, (slot.slot_id,), detail)
    if not person.is_free(slot.span):
        yield PlanConflict(ConflictKind.AVAILABILITY, person.collaborator_id, (slot.slot_id,))


def clash(plan: Plan, person: Collaborator, one: Engagement, other: Engagement) -> Iterator[PlanConflict]:
    """What keeps a person from two engagements: they overlap, or the way is longer than the time between."""
    first, second = sorted((one, other), key=lambda engaged: engaged.span)
    slot_ids = tuple(engaged.slot_id for engaged in (first, second) if engaged.slot_id is not None)
    detail = next((each.span.starts_at.isoformat() for each in (first, second) if each.slot_id is None), "")
    if first.span.overlaps(second.span):
        yield PlanConflict(ConflictKind.OVERLAP, person.collaborator_id, slot_ids, detail)
    elif lacking := lacking_minutes(plan, first, second):
        yield PlanConflict(ConflictKind.TRAVEL, person.collaborator_id, slot_ids, detail, lacking)


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


def words(conflict: PlanConflict, slots: Mapping[UUID, Slot], people: Mapping[UUID, Collaborator]) -> str:
    """The conflict as a sentence, with the names of slots and people."""
    who = people[conflict.collaborator_id].name
    names = [slots[slot_id].name for slot_id in conflict.slot_ids[:MOST_NAMED]]
    more = len(conflict.slot_ids) - len(names)
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
            named = ", ".join(names) + (f" and {more} more" if more else "")
            return f"{who} works {conflict.minutes} minutes too many in {conflict.detail}: {named}"
