"""Spans are elapsed time and half open; availability is what is stated without what is busy; weights are checked."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.payloads.planning import MOST_WEIGHT
from domain.planning.fingerprint import difference, hash_of, parts_of
from domain.planning.model import (
    WEIGHT_MEANINGS,
    Assignment,
    Availability,
    AvailabilityKind,
    Commitment,
    Plan,
    Span,
    Weights,
    joined,
    without,
)
from domain.planning.travel import Place, Travel, great_circle_km
from tests.doubles.planning.plans import at, person, person_id, place_id, places, slot, slot_id, span
from tests.house.reading import ROOT

BERLIN = ZoneInfo("Europe/Berlin")
SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)).map(lambda one: span(one[0], one[0] + one[1])))


def test_a_length_is_elapsed_time_also_while_the_clocks_change() -> None:
    spring = Span(datetime(2026, 3, 29, 1, tzinfo=BERLIN), datetime(2026, 3, 29, 4, tzinfo=BERLIN))
    autumn = Span(datetime(2026, 10, 24, 22, tzinfo=BERLIN), datetime(2026, 10, 25, 4, tzinfo=BERLIN))
    assert (spring.minutes, spring.hours) == (120, 2)
    assert (autumn.minutes, autumn.hours) == (420, 7)
    assert Span(at(0), at(0) + timedelta(seconds=61)).minutes == 2


def test_clocks_that_run_forward_may_show_a_span_of_no_length() -> None:
    with pytest.raises(Invalid, match="ends_at"):
        Span(datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN), datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN))


@pytest.mark.parametrize(
    ("start", "end", "field"),
    [
        (at(1), at(1), "ends_at"),
        (at(2), at(1), "ends_at"),
        (at(1).replace(tzinfo=None), at(2), "starts_at"),
        (at(1), at(2).replace(tzinfo=None), "ends_at"),
        (datetime(1599, 12, 31, 23, tzinfo=UTC), at(2), "starts_at"),
        (at(1), datetime(9999, 12, 31, 23, tzinfo=UTC), "ends_at"),
    ],
)
def test_a_span_needs_offsets_years_that_all_clocks_know_and_an_end_after_its_start(
    start: datetime, end: datetime, field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        Span(start, end)
    assert refusal.value.field == field


def test_spans_that_touch_do_not_overlap() -> None:
    assert not span(10, 11).overlaps(span(11, 12))
    assert span(10, 11).overlaps(span(10.9, 12))
    assert span(10, 12).contains(span(11, 12))


def hours(spans: list[Span]) -> set[int]:
    return {hour for hour in range(60) if any(one.contains(span(hour, hour + 1)) for one in spans)}


@given(SPANS, SPANS)
def test_joined_spans_without_others_are_the_same_time_as_hour_by_hour(stated: list[Span], taken: list[Span]) -> None:
    assert hours(joined(stated)) == hours(stated)
    assert hours(without(joined(stated), joined(taken))) == hours(stated) - hours(taken)


def test_busy_wins_and_whoever_states_nothing_is_available() -> None:
    busy = Availability(span(10, 11), AvailabilityKind.BUSY)
    stated = (Availability(span(8, 10)), Availability(span(10, 12), AvailabilityKind.PREFERRED))
    assert person(1).is_free(span(0, 1_000))
    assert not person(1, availabilities=(busy,)).is_free(span(9, 12))
    assert person(1, availabilities=(busy,)).is_free(span(11, 90))
    assert person(1, availabilities=stated).is_free(span(9, 11)), "two that touch are one"
    assert not person(1, availabilities=stated).is_free(span(9, 13))
    assert not person(1, availabilities=(*stated, busy)).is_free(span(9, 11))
    assert person(1, availabilities=stated).prefers(span(10, 11))
    assert not person(1, availabilities=stated).prefers(span(9, 11))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"coverage": -1}, "weights.coverage"),
        ({"travel": 10**9}, "weights.travel"),
        ({"fairness": MOST_WEIGHT + 1}, "weights.fairness"),
        ({"stability": 1.5}, "weights.stability"),
        ({"stability": True}, "weights.stability"),
        ({"preference": "20"}, "weights.preference"),
        ({"kindness": 1}, "weights.kindness"),
    ],
)
def test_a_weight_is_a_whole_number_that_loses_no_points(values: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refusal:
        Weights.from_json(values)
    assert refusal.value.field == field


def test_weights_may_be_zero_and_have_defaults() -> None:
    assert Weights.from_json({"travel": 0}) == Weights(travel=0)
    assert Weights(0, 0, 0, 0, 0).coverage == 0


@pytest.mark.parametrize("field", ["headcount", "priority"])
def test_a_slot_has_bounds(field: str) -> None:
    for value in (0, -1, 1_000):
        with pytest.raises(Invalid, match=field):
            slot(1, 0, 1, **{field: value})


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"slots": (slot(1, 0, 1), slot(1, 2, 3))}, "slots"),
        ({"collaborators": (person(1), person(1))}, "collaborators"),
        ({"assignments": (Assignment(slot_id(1), person_id(9)),)}, "assignments"),
        ({"assignments": (Assignment(slot_id(9), person_id(1)),)}, "assignments"),
        ({"assignments": (Assignment(slot_id(1), person_id(1)),) * 2}, "assignments"),
        ({"commitments": (Commitment(person_id(9), span(0, 1)),)}, "commitments"),
        ({"slots": (slot(1, 0, 1, place_id=place_id(7)),)}, "places"),
    ],
)
def test_a_plan_names_only_what_is_in_it_and_nothing_twice(parts: dict[str, Any], field: str) -> None:
    whole: dict[str, Any] = {"slots": (slot(1, 0, 1),), "collaborators": (person(1),), "travel": places()}
    with pytest.raises(Invalid) as refusal:
        Plan(**(whole | parts))
    assert refusal.value.field == field


def test_a_plan_is_the_same_in_whatever_order_it_comes() -> None:
    slots, people = (slot(2, 0, 1), slot(1, 0, 1), slot(3, 0, 0.5)), (person(2), person(1))
    assert Plan(slots, people) == Plan(slots[::-1], people[::-1])
    assert [one.slot_id for one in Plan(slots, people).slots] == [slot_id(3), slot_id(1), slot_id(2)]


def test_two_commitments_at_once_have_one_order_so_that_the_plan_has_one_hash() -> None:
    """The database returns them in any: a proposal would be called outdated."""
    busy = [Commitment(person_id(1), span(0, 1), place) for place in (place_id(2), None, place_id(0), place_id(1))]
    hashes = {
        hash_of(parts_of(Plan((slot(1, 0, 1),), (person(1),), commitments=order, travel=places())))
        for order in permutations(busy)
    }
    assert len(hashes) == 1


class CountedId(UUID):
    """Counts how often an id is written or compared."""

    uses = 0

    def __str__(self) -> str:
        CountedId.uses += 1
        return super().__str__()

    def __lt__(self, other: UUID) -> bool:
        CountedId.uses += 1
        return super().__lt__(other)


def test_a_large_table_of_ways_is_hashed_without_writing_each_end_again() -> None:
    """A thousand places have a million ways, and the hash is taken while run sheets are locked."""
    ids: list[UUID] = [CountedId(int=number) for number in range(40)]
    ways: dict[UUID, dict[UUID, int]] = {start: {end: 5 for end in ids if end is not start} for start in ids}
    travel = Travel(tuple(Place(one, "x") for one in ids), ways)
    CountedId.uses = 0
    parts = parts_of(Plan((slot(1, 0, 1),), (), travel=travel))
    assert CountedId.uses <= 3 * len(ids)
    backwards = Travel(travel.places[::-1], {start: dict(reversed(ends.items())) for start, ends in ways.items()})
    assert parts_of(Plan((slot(1, 0, 1),), (), travel=backwards)) == parts
    other = Travel(travel.places, {**ways, ids[0]: {ids[1]: 6}})
    assert difference(parts, parts_of(Plan((slot(1, 0, 1),), (), travel=other))) == [f"place {ids[0]} has changed"]


BERLIN_PLACE = Place(UUID(int=1), "Berlin", 52.52, 13.405)
PARIS = Place(UUID(int=2), "Paris", 48.8566, 2.3522)


def test_minutes_come_from_the_table_else_from_the_way_over_the_ground() -> None:
    kilometers = great_circle_km(BERLIN_PLACE, PARIS)
    assert kilometers == pytest.approx(878, abs=2)
    travel = Travel((BERLIN_PLACE, PARIS), {BERLIN_PLACE.place_id: {PARIS.place_id: 500}}, speed_kmh=100)
    assert travel.minutes(BERLIN_PLACE.place_id, PARIS.place_id) == 500
    assert travel.minutes(PARIS.place_id, BERLIN_PLACE.place_id) == pytest.approx(878 * 1.3 * 0.6, abs=3)
    assert travel.minutes(PARIS.place_id, PARIS.place_id) == 0
    assert places().minutes(place_id(0), place_id(1)) == 0, "an unknown way forbids nothing"


@pytest.mark.parametrize(("latitude", "longitude"), [(91, 0), (0, -181), (float("nan"), 0), (1, None), (None, 1)])
def test_a_place_is_on_earth(latitude: float | None, longitude: float | None) -> None:
    with pytest.raises(Invalid):
        Place(UUID(int=1), "nowhere", latitude, longitude)


def test_a_table_in_seconds_is_refused() -> None:
    with pytest.raises(Invalid, match="table"):
        places((0, 1, 3 * 24 * 60))


def test_the_page_has_each_weight_with_its_points_and_its_meaning() -> None:
    page = (ROOT / "docs" / "explanation" / "plans.md").read_text()
    rows = [f"| {name} | {getattr(Weights(), name)} | {meaning} |" for name, meaning in WEIGHT_MEANINGS.items()]
    assert [row for row in rows if row not in page] == []
    assert f"{MOST_WEIGHT:,}" in page
