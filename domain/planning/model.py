"""What a plan consists of: slots that want people, people with skills and times, and what a choice is worth.

Every moment is kept in UTC, so that a length is elapsed time, also over midnight and while the clocks change. Spans are
half open: 10:00 to 11:00 and 11:00 to 12:00 do not overlap.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import islice
from typing import Any, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from domain.jobs.failures import Invalid
from domain.payloads.planning import FIRST_YEAR, LAST_YEAR, MOST_WEIGHT
from domain.planning.travel import Travel

MOST_HEADCOUNT = 100
MOST_PRIORITY = 10
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A time from a moment until another; the end is no part of it."""

    starts_at: datetime
    ends_at: datetime

    def __post_init__(self) -> None:
        """Keep both moments in UTC; raises `Invalid` for a moment that has none, and for an end not after the start."""
        for name in ("starts_at", "ends_at"):
            moment = getattr(self, name)
            if moment.utcoffset() is None:
                raise Invalid(name, "has no offset from UTC")
            try:
                # Python subtracts and compares two moments of one zone by their clocks, not by elapsed time.
                object.__setattr__(self, name, moment.astimezone(UTC))
            except OverflowError:
                raise Invalid(name, f"is not between the years {FIRST_YEAR} and {LAST_YEAR}") from None
            if not FIRST_YEAR <= getattr(self, name).year <= LAST_YEAR:
                raise Invalid(name, f"is not between the years {FIRST_YEAR} and {LAST_YEAR}")
        if self.ends_at <= self.starts_at:
            raise Invalid("ends_at", "is not after starts_at")

    @property
    def minutes(self) -> int:
        """Its length; a minute that has begun counts."""
        return -((self.starts_at - self.ends_at) // MINUTE)

    @property
    def hours(self) -> int:
        """Its length; an hour that has begun counts."""
        return -(-self.minutes // 60)

    def overlaps(self, other: "Span") -> bool:
        """Whether there is a moment that both have."""
        return self.starts_at < other.ends_at and other.starts_at < self.ends_at

    def contains(self, other: "Span") -> bool:
        """Whether the other lies inside."""
        return self.starts_at <= other.starts_at and other.ends_at <= self.ends_at


ALWAYS = Span(datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))


class AvailabilityKind(StrEnum):
    """What somebody says of a time."""

    AVAILABLE = "available"
    PREFERRED = "preferred"
    """Available, and liked: a slot inside is worth the weight `preference` more."""
    BUSY = "busy"
    """Not available, whatever else is said of the time."""


@dataclass(frozen=True, slots=True, order=True)
class Availability:
    """What a collaborator says of a time."""

    span: Span
    kind: AvailabilityKind = AvailabilityKind.AVAILABLE


@dataclass(frozen=True)
class Collaborator:
    """A person who can be given slots."""

    collaborator_id: UUID
    name: str
    skills: frozenset[str] = frozenset()
    availabilities: tuple[Availability, ...] = ()
    home_id: UUID | None = None
    """The place that the person comes from: the weight `travel` counts from there."""
    most_minutes_a_day: int | None = None
    most_minutes_a_week: int | None = None
    """In a week from Monday on. A slot counts in the day and in the week in which it begins, by the project's zone."""

    @cached_property
    def free(self) -> tuple[Span, ...]:
        """When the person is available and not busy.

        Whoever states no availability is available: a calendar tells only when its owner is busy.
        """
        stated = [one.span for one in self.availabilities if one.kind is not AvailabilityKind.BUSY]
        busy = [one.span for one in self.availabilities if one.kind is AvailabilityKind.BUSY]
        return tuple(without(joined(stated or [ALWAYS]), joined(busy)))

    @cached_property
    def preferred(self) -> tuple[Span, ...]:
        """The times that the person prefers."""
        return tuple(joined(one.span for one in self.availabilities if one.kind is AvailabilityKind.PREFERRED))

    def is_free(self, span: Span) -> bool:
        """Whether the person is available all the time."""
        return contain(self.free, span)

    def prefers(self, span: Span) -> bool:
        """Whether the person prefers the whole time."""
        return contain(self.preferred, span)


def joined(spans: Iterable[Span]) -> list[Span]:
    """The same time in as few spans as possible, in order; those that touch become one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.starts_at <= found[-1].ends_at:
            found[-1] = Span(found[-1].starts_at, max(found[-1].ends_at, span.ends_at))
        else:
            found.append(span)
    return found


def without(spans: Iterable[Span], taken: Sequence[Span]) -> list[Span]:
    """What is left of spans without the taken ones; both are joined."""
    left, begin = [], 0
    for span in spans:
        start = span.starts_at
        while begin < len(taken) and taken[begin].ends_at <= start:
            begin += 1
        for gone in islice(taken, begin, None):
            if gone.starts_at >= span.ends_at:
                break
            if start < gone.starts_at:
                left.append(Span(start, gone.starts_at))
            start = max(start, gone.ends_at)
        if start < span.ends_at:
            left.append(Span(start, span.ends_at))
    return left


def contain(spans: Sequence[Span], span: Span) -> bool:
    """Whether one of the joined spans contains another."""
    index = bisect_right(spans, span.starts_at, key=lambda one: one.starts_at)
    return index > 0 and spans[index - 1].contains(span)


@dataclass(frozen=True, slots=True)
class Slot:
    """A time at a place for which people are wanted."""

    slot_id: UUID
    name: str
    span: Span
    place_id: UUID | None = None
    skills: frozenset[str] = frozenset()
    """Each person in the slot needs all of them."""
    headcount: int = 1
    priority: int = 1

    def __post_init__(self) -> None:
        """Raise `Invalid` with the field."""
        for name, most in (("headcount", MOST_HEADCOUNT), ("priority", MOST_PRIORITY)):
            if not 1 <= getattr(self, name) <= most:
                raise Invalid(name, f"must be between 1 and {most}")


@dataclass(frozen=True, slots=True, order=True)
class Assignment:
    """A person in a slot, as the plan has it now. A pinned one stays in each proposal, whatever rule it breaks."""

    slot_id: UUID
    collaborator_id: UUID
    is_pinned: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Commitment:
    """What a person does in another project: the time is taken, and it counts in the hours."""

    collaborator_id: UUID
    span: Span
    place_id: UUID | None = None


def _weight(points: int, meaning: str) -> Any:  # noqa: ANN401 - dataclasses type a field by its annotation
    return field(default=points, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Weights:
    """What a plan's points are made of, in whole numbers: a solver can prove the best plan to the last point then."""

    coverage: int = _weight(1_000, "for each person in a slot, up to its headcount, times the slot's priority")
    preference: int = _weight(20, "for each person in a slot that lies in a time which the person prefers")
    stability: int = _weight(50, "for each assignment of the plan as it is now that stays")
    travel: int = _weight(1, "off for each minute from a person's home to the place of a slot")
    fairness: int = _weight(10, "off for each hour of the person who has the most; an hour that has begun counts")

    def __post_init__(self) -> None:
        """Raise `Invalid` with the weight for what is no whole number from 0 to `MOST_WEIGHT`."""
        for name in WEIGHT_MEANINGS:
            value = getattr(self, name)
            if type(value) is not int:
                raise Invalid(f"weights.{name}", "must be a whole number")
            if not 0 <= value <= MOST_WEIGHT:
                raise Invalid(f"weights.{name}", f"must be between 0 and {MOST_WEIGHT}")

    @classmethod
    def from_json(cls, values: Mapping[Any, Any]) -> Self:
        """The weights that are given, and the defaults of the others; raises `Invalid` with the weight."""
        unknown = sorted(set(values) - set(WEIGHT_MEANINGS))
        if unknown:
            raise Invalid(f"weights.{unknown[0]}", f"is no weight; there are {', '.join(WEIGHT_MEANINGS)}")
        return cls(**values)


WEIGHT_MEANINGS = {weight.name: str(weight.metadata["meaning"]) for weight in fields(Weights)}
"""What each weight gives a plan points for, or takes them off."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a proposal depends on, in one order, whatever order it came in: the same plan has the same answer."""

    slots: tuple[Slot, ...]
    collaborators: tuple[Collaborator, ...]
    assignments: tuple[Assignment, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    travel: Travel = field(default_factory=Travel)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    weights: Weights = Weights()

    def __post_init__(self) -> None:
        """Put all in order; raises `Invalid` for what stands twice, and for a name that nothing has."""
        _put(self, "slots", sorted(self.slots, key=lambda slot: (slot.span, slot.slot_id)))
        _put(self, "collaborators", sorted(self.collaborators, key=lambda person: person.collaborator_id))
        _put(self, "assignments", sorted(self.assignments))
        _put(self, "commitments", sorted(self.commitments, key=_commitment_order))
        slots, people = [slot.slot_id for slot in self.slots], [one.collaborator_id for one in self.collaborators]
        _check_once("slots", slots)
        _check_once("collaborators", people)
        _check_once("assignments", [(one.slot_id, one.collaborator_id) for one in self.assignments])
        _check_known("assignments", [one.slot_id for one in self.assignments], slots)
        _check_known("assignments", [one.collaborator_id for one in self.assignments], people)
        _check_known("commitments", [one.collaborator_id for one in self.commitments], people)
        places = [slot.place_id for slot in self.slots] + [one.home_id for one in self.collaborators]
        places += [one.place_id for one in self.commitments]
        _check_known("places", [place for place in places if place is not None], self.travel.place_ids)


def _commitment_order(one: Commitment) -> tuple[UUID, Span, bool, UUID]:
    """Also of two at the same time."""
    return one.collaborator_id, one.span, one.place_id is None, one.place_id or one.collaborator_id


def _put(plan: Plan, name: str, values: Sequence[Any]) -> None:
    object.__setattr__(plan, name, tuple(values))


def _check_once(name: str, values: Sequence[Any]) -> None:
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise Invalid(name, f"has {twice} twice")


def _check_known(name: str, values: Iterable[UUID], known: Iterable[UUID]) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise Invalid(name, f"names {unknown[0]}, which is not in the plan")
