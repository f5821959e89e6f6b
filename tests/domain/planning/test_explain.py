"""Each slot says who is in it, why nobody else is, and why it is open."""

from domain.planning.conflicts import ConflictKind
from domain.planning.explain import Candidate, SlotExplanation, describe, explain, kept_conflicts
from domain.planning.model import Availability, AvailabilityKind, Plan, Weights
from domain.planning.programme import SlotVariable, plan_points
from tests.doubles.planning.plans import choice, given, person, person_id, slot, small_plan, span

SOUND = frozenset({"sound"})


def by_person(explanation: SlotExplanation) -> dict[int, Candidate]:
    return {one.collaborator_id.int - person_id(0).int: one for one in explanation.candidates}


def test_a_slot_that_nobody_can_do_is_open_with_the_reason() -> None:
    slots = (slot(1, 0, 2, skills=SOUND, headcount=2), slot(2, 1, 3))
    away = Availability(span(0, 9), AvailabilityKind.BUSY)
    people = (
        person(1),
        person(2),
        person(3, skills=SOUND, availabilities=(away,)),
        person(4, skills=SOUND),
        person(5, skills=SOUND, most_minutes_a_day=60),
    )
    first, second = explain(Plan(slots, people), [choice(2, 4)])
    assert first.open_places == 2
    assert first.why_open == "2 lack a skill, 1 are not available, 1 are somewhere else then, 1 have no hours left"
    assert second.why_open == ""
    assert by_person(second)[4].is_chosen


def test_a_candidate_loses_the_points_that_the_plan_loses_with_the_person_in_the_slot() -> None:
    liked = Availability(span(0, 9), AvailabilityKind.PREFERRED)
    plan = Plan(
        (slot(1, 0, 2),), (person(1, availabilities=(liked,)), person(2), person(3)), weights=Weights(fairness=0)
    )
    (only,) = explain(plan, [choice(1, 1)])
    assert [(one.is_chosen, one.loses) for one in only.candidates] == [(True, 0), (False, 20), (False, 20)]
    assert only.candidates[0].points.preference == 20


def test_what_a_candidate_loses_is_what_the_points_of_the_whole_plan_say() -> None:
    """For small plans by chance: one person enters a place, or takes the place of the one who costs least."""
    compared = 0
    for seed in range(120):
        plan = small_plan(seed)
        pinned = {SlotVariable(one.slot_id, one.collaborator_id) for one in plan.assignments if one.is_pinned}
        before = plan_points(plan, pinned).total
        for one in explain(plan, pinned):
            for candidate in one.candidates:
                if candidate.is_chosen or candidate.against or not one.open_places:
                    continue
                after = plan_points(plan, {*pinned, SlotVariable(one.slot_id, candidate.collaborator_id)}).total
                assert candidate.loses == before - after
                compared += 1
    assert compared > 50


def test_a_pinned_assignment_that_breaks_a_rule_is_kept_and_reported() -> None:
    plan = Plan((slot(1, 0, 2, skills=SOUND),), (person(1), person(2, skills=SOUND)), (given(1, 1, is_pinned=True),))
    (kept,) = kept_conflicts(plan, [choice(1, 1)])
    assert kept.kind is ConflictKind.SKILL
    (only,) = explain(plan, [choice(1, 1)])
    assert by_person(only)[1].against == kept
    assert only.open_places == 0


def test_reasons_are_json_with_names() -> None:
    plan = Plan((slot(1, 0, 2, skills=SOUND),), (person(1), person(2, skills=SOUND)))
    (only,) = describe(plan, explain(plan, [choice(1, 2)]), 2)
    assert only["slot"] == "slot 1"
    candidates = only["candidates"]
    assert isinstance(candidates, list)
    assert [(one["collaborator"], one["rule"], one["why"], one["loses"]) for one in candidates] == [
        ("person 2", None, "", None),
        ("person 1", "skill", "person 1 lacks for slot 1: sound", None),
    ]


def test_of_many_candidates_the_nearest_are_described_and_the_others_counted() -> None:
    plan = Plan((slot(1, 0, 2, skills=SOUND),), tuple(map(person, range(30))))
    (only,) = describe(plan, explain(plan, []), 10)
    assert (len(only["candidates"]), only["others"]) == (10, 20)


def test_a_plan_is_explained_slot_by_slot_so_that_a_job_can_end_in_between() -> None:
    plan = Plan(tuple(slot(number, number, number + 1) for number in range(3)), (person(1),))
    described = describe(plan, explain(plan, []), 10)
    assert next(described)["slot"] == "slot 0"
    assert [one["slot"] for one in described] == ["slot 1", "slot 2"]
