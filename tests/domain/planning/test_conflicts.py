"""What breaks which rule, and that a conflict is the same in each scan."""

from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from domain.planning.conflicts import ConflictKind, Diary, PlanConflict, committed, engagement, find_conflicts, words
from domain.planning.model import (
    ALWAYS,
    Assignment,
    Availability,
    AvailabilityKind,
    Collaborator,
    Commitment,
    Plan,
    Slot,
    Span,
)
from domain.planning.programme import by_id
from domain.planning.travel import MOST_MINUTES, Travel
from tests.doubles.planning.plans import given, person, person_id, place_id, places, slot, slot_id, small_plan, span

DAY = timedelta(days=1)
WAY = places((0, 1, 30), (0, 2, 60), (1, 2, 45))


def found(
    slots: Sequence[Slot], who: Collaborator, travel: Travel | None = None, **facts: object
) -> list[PlanConflict]:
    """The conflicts of a person who has all of these slots."""
    plan = Plan(tuple(slots), (who,), travel=travel or places(), **facts)  # type: ignore[arg-type]  # by name
    return list(find_conflicts(plan, [Assignment(one.slot_id, who.collaborator_id) for one in slots]))


def kinds(conflicts: Sequence[PlanConflict]) -> list[tuple[ConflictKind, int]]:
    return [(one.kind, one.minutes) for one in conflicts]


@pytest.mark.parametrize(
    ("slots", "who", "expected"),
    [
        ([slot(1, 10, 11), slot(2, 11, 12)], person(1), []),
        ([slot(1, 10, 11), slot(2, 10.99, 12)], person(1), [(ConflictKind.OVERLAP, 0)]),
        ([slot(1, 10, 12), slot(2, 11, 11.5)], person(1), [(ConflictKind.OVERLAP, 0)]),
        (
            [slot(1, 10, 11, place_id=place_id(0)), slot(2, 11, 12, place_id=place_id(1))],
            person(1),
            [(ConflictKind.TRAVEL, 30)],
        ),
        ([slot(1, 10, 11, place_id=place_id(0)), slot(2, 11.5, 12, place_id=place_id(1))], person(1), []),
        (
            [slot(1, 10, 11, place_id=place_id(0)), slot(2, 11.49, 12, place_id=place_id(1))],
            person(1),
            [(ConflictKind.TRAVEL, 1)],
        ),
        ([slot(1, 10, 11, place_id=place_id(0)), slot(2, 11, 12)], person(1), []),
        (
            [slot(1, 9, 10, place_id=place_id(0)), slot(2, 10, 10.5), slot(3, 10.5, 11, place_id=place_id(2))],
            person(1),
            [(ConflictKind.TRAVEL, 30)],
        ),
        (
            [slot(1, 0, 1, skills=frozenset({"sound", "rigging"}))],
            person(1, skills=frozenset({"sound"})),
            [(ConflictKind.SKILL, 0)],
        ),
        ([slot(1, 0, 2)], person(1, availabilities=(Availability(span(0, 1)),)), [(ConflictKind.AVAILABILITY, 0)]),
        (
            [slot(1, 0, 2)],
            person(1, availabilities=(Availability(span(1.5, 9), AvailabilityKind.BUSY),)),
            [(ConflictKind.AVAILABILITY, 0)],
        ),
        ([slot(1, 0, 4), slot(2, 5, 10)], person(1, most_minutes_a_day=540), []),
        ([slot(1, 0, 4), slot(2, 5, 10)], person(1, most_minutes_a_day=500), [(ConflictKind.HOURS, 40)]),
        ([slot(1, 20, 30), slot(2, 40, 47)], person(1, most_minutes_a_day=600), []),
        ([slot(1, 0, 9), slot(2, 24, 33)], person(1, most_minutes_a_week=1_000), [(ConflictKind.HOURS, 80)]),
        ([slot(1, 160, 169), slot(2, 168, 177)], person(1, most_minutes_a_week=600), [(ConflictKind.OVERLAP, 0)]),
        ([slot(1, 0, 1)], person(1, most_minutes_a_day=0), [(ConflictKind.HOURS, 60)]),
    ],
)
def test_what_breaks_a_rule(slots: list[Slot], who: Collaborator, expected: list[tuple[ConflictKind, int]]) -> None:
    assert kinds(found(slots, who, WAY)) == expected


def test_a_day_is_that_of_the_projects_clocks() -> None:
    slots, who = [slot(1, 22, 23), slot(2, 23.5, 25.5)], person(1, most_minutes_a_day=120)
    assert kinds(found(slots, who)) == [(ConflictKind.HOURS, 60)]
    (conflict,) = found([*slots, slot(3, 26, 28)], who, zone=ZoneInfo("Europe/Berlin"))
    assert (conflict.detail, conflict.minutes) == ("2026-03-03", 120), "23:30 UTC is the next day there"


def test_what_a_person_does_in_another_project_counts() -> None:
    other = Commitment(person_id(1), span(10, 12), place_id(1))
    who = person(1, most_minutes_a_day=150)
    assert kinds(found([slot(1, 11, 13)], who, commitments=(other,))) == [
        (ConflictKind.OVERLAP, 0),
        (ConflictKind.HOURS, 90),
    ]
    near = slot(1, 9, 9.5, place_id=place_id(0))
    assert found([near], who, WAY, commitments=(other,)) == []
    (conflict,) = found([slot(1, 9, 9.75, place_id=place_id(0))], person(1), WAY, commitments=(other,))
    assert (conflict.kind, conflict.detail, conflict.minutes) == (ConflictKind.TRAVEL, "2026-03-02T10:00:00+00:00", 15)


def test_a_conflict_has_the_same_id_in_each_scan() -> None:
    who = person(1, most_minutes_a_day=60)
    before = {one.kind: one.conflict_id for one in found([slot(1, 0, 2), slot(2, 1, 3)], who)}
    after = {one.kind: one.conflict_id for one in found([slot(2, 0, 2), slot(1, 1, 3), slot(3, 9, 10)], who)}
    assert before == after, "neither order nor one more slot of the same day makes another conflict"
    assert len(set(before.values())) == 2


def test_each_conflict_of_a_plan_has_its_own_id() -> None:
    for seed in range(60):
        plan = small_plan(seed)
        everything = [Assignment(one.slot_id, who.collaborator_id) for one in plan.slots for who in plan.collaborators]
        conflicts = list(find_conflicts(plan, everything))
        assert len({one.conflict_id for one in conflicts}) == len(conflicts)
        assert all(words(one, *by_id(plan)) for one in conflicts)


def test_words_name_people_slots_and_what_is_wrong() -> None:
    slots = (slot(1, 10, 11, place_id=place_id(0)), slot(2, 11, 12, place_id=place_id(1), skills=frozenset({"sound"})))
    plan = Plan(slots, (person(1, most_minutes_a_day=90),), travel=WAY)
    assert [words(one, *by_id(plan)) for one in find_conflicts(plan, [given(1, 1), given(2, 1)])] == [
        "person 1 lacks for slot 2: sound",
        "person 1 lacks 30 minutes for the way between slot 1 and slot 2",
        "person 1 works 30 minutes too many in 2026-03-02: slot 1, slot 2",
    ]


def test_a_sentence_names_ten_slots_and_counts_the_others() -> None:
    slots = tuple(slot(number, number, number + 1) for number in range(13))
    (conflict,) = found(slots, who := person(1, most_minutes_a_day=60))
    said = words(conflict, *by_id(Plan(slots, (who,))))
    assert said.endswith(", slot 8, slot 9 and 3 more")


@pytest.mark.parametrize(("gap", "kinds"), [(MOST_MINUTES - 1, [ConflictKind.TRAVEL]), (MOST_MINUTES, [])])
def test_the_longest_way_that_there_is_counts_to_the_minute(gap: int, kinds: list[ConflictKind]) -> None:
    first = slot(1, 0, 100, place_id=place_id(0))
    between = slot(2, 10, 11, place_id=place_id(0))
    last = slot(3, 100 + gap / 60, 101 + gap / 60, place_id=place_id(1))
    way = places((0, 1, MOST_MINUTES))
    clashing = [one for one in found([first, between, last], person(1), way) if one.kind is not ConflictKind.OVERLAP]
    assert [(one.kind, one.slot_ids) for one in clashing] == [(kind, (slot_id(1), slot_id(3))) for kind in kinds]
    diary = Diary(Plan((first, between, last), (who := person(1),), travel=way), who, map(engagement, (first, between)))
    assert [one.kind for one in diary.rules_against(last)] == kinds


def test_slots_at_the_ends_of_time_have_rules_too() -> None:
    begin, end = ALWAYS.starts_at, ALWAYS.ends_at
    slots = [Slot(slot_id(number), "x", Span(begin, end - number * DAY)) for number in range(2)]
    assert [one.kind for one in found(slots, person(1))] == [ConflictKind.OVERLAP]


def test_a_rule_is_against_a_slot_if_the_person_would_break_it_with_the_slot() -> None:
    """The question of planning, asked slot by slot, has the answer of the scan, which looks at all."""
    for seed in range(80):
        plan = small_plan(seed)
        for who in plan.collaborators:
            for one in plan.slots:
                alone = find_conflicts(plan, [Assignment(one.slot_id, who.collaborator_id)])
                diary = Diary(plan, who, committed(plan)[who.collaborator_id])
                assert {each.kind for each in diary.rules_against(one)} == {each.kind for each in alone}
