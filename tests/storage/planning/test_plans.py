"""What PostgreSQL says of a plan is what the domain says of it: the plan itself, and its conflicts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from psycopg import Connection

from domain.jobs.failures import Forbidden
from domain.jobs.scheduling.zones import zone_names
from domain.planning import conflicts as rules
from domain.planning.conflicts import ConflictKind, PlanConflict
from domain.planning.fingerprint import difference, parts_of
from domain.planning.model import Assignment, Availability, AvailabilityKind, Commitment, Plan, Span
from domain.planning.travel import Place, Travel
from storage.planning import plans, run_sheets
from storage.postgres.database import Database, Transaction
from tests.doubles.factories import make_org
from tests.doubles.planning.plans import given, person, person_id, place_id, places, slot, slot_id, small_plan, span
from tests.doubles.planning.stored_plans import store_plan

ALL = span(-10_000, 10_000)


@pytest.fixture
def org(database: Connection) -> UUID:
    return make_org(database)


class UndoneError(Exception):
    """Undoes what a transaction has written."""


@contextmanager
def undone(store: Database) -> Iterator[Transaction]:
    with pytest.raises(UndoneError), store.ledger() as tx:
        yield tx
        raise UndoneError


def on_the_map(plan: Plan) -> Plan:
    """The same with coordinates of all places but the last, of which some ways have no minutes in the table."""
    *known, unknown = plan.travel.places
    spots = tuple(
        Place(one.place_id, one.name, 52.0 + number / 10, 13.0 + number / 7) for number, one in enumerate(known)
    )
    table = {
        start: {end: minutes for end, minutes in ways.items() if minutes != 45}
        for start, ways in plan.travel.table.items()
    }
    return replace(plan, travel=Travel((*spots, unknown), table))


def within(found: Iterable[PlanConflict], plan: Plan, window: Span) -> list[PlanConflict]:
    inside = {one.slot_id for one in plan.slots if one.span.overlaps(window)}
    return [conflict for conflict in found if inside & set(conflict.slot_ids)]


def as_counted(found: Iterable[PlanConflict]) -> Counter[tuple[object, ...]]:
    return Counter(
        (one.kind, one.collaborator_id, one.slot_ids, one.detail, one.minutes, one.conflict_id) for one in found
    )


def without_times(plan: Plan) -> Plan:
    return replace(plan, collaborators=tuple(replace(one, availabilities=()) for one in plan.collaborators))


def times(plan: Plan) -> list[tuple[bool, bool]]:
    """Who can do which slot, and likes to; times that the plan does not reach are left out."""
    pairs = [(one, slot.span) for one in plan.collaborators for slot in plan.slots]
    return [(one.is_free(during), one.prefers(during)) for one, during in pairs]


def test_statements_find_the_conflicts_that_the_rules_mean(store: Database, org: UUID) -> None:
    seen: Counter[ConflictKind] = Counter()
    for seed in range(120):
        wanted = on_the_map(small_plan(seed))
        window = ALL if seed % 2 else span(Random(seed).choice([0, 5, 9]), 11)  # noqa: S311 - the same for a seed
        with undone(store) as tx:
            project, _ = store_plan(tx, org, wanted)
            plan = plans.load(tx, project, None)
            found = plans.find_conflicts(tx, project, window)
        meant = within(rules.find_conflicts(plan, plan.assignments), plan, window)
        assert as_counted(found.conflicts) == as_counted(meant), seed
        assert found.counts == {kind: sum(one.kind is kind for one in meant) for kind in ConflictKind}
        seen.update(one.kind for one in found.conflicts)
        if not wanted.commitments:
            assert difference(parts_of(without_times(wanted)), parts_of(without_times(plan))) == [], seed
            assert times(wanted) == times(plan), seed
    assert set(seen) == set(ConflictKind), "each kind has to occur, or the comparison says nothing of it"


def test_postgresql_reads_each_zone_that_is_accepted_as_the_rules_do(store: Database) -> None:
    """Otherwise a scan counts a slot in another day than a suggestion."""
    moments = [datetime(2026, month, 10, 22, 15, tzinfo=UTC) for month in (1, 7)]
    query = (
        "select name, moment, to_char(moment at time zone name, 'YYYY-MM-DD HH24:MI')"
        " from unnest(%(names)s::text[]) as z (name), unnest(%(moments)s::timestamptz[]) as m (moment)"
    )
    with store.ledger() as tx:
        rows = tx.raw(query, {"names": sorted(zone_names()), "moments": moments})
    assert len(rows) == len(moments) * len(zone_names()) > 800
    told = {(name, moment): f"{moment.astimezone(ZoneInfo(name)):%Y-%m-%d %H:%M}" for name, moment, _ in rows}
    assert {(name, moment): clock for name, moment, clock in rows} == told


def planted() -> tuple[Plan, set[tuple[ConflictKind, UUID, tuple[UUID, ...]]]]:
    """2,000 slots of 100 people without a conflict, and one of each kind that was planted, some of them twice."""
    base = [slot(100 * day + number, 24 * day + 8, 24 * day + 12) for day in range(20) for number in range(100)]
    crew = [person(number, most_minutes_a_day=480) for number in range(100)]
    assignments = [given(100 * day + number, number) for day in range(20) for number in range(100)]
    extra = [
        slot(5_001, 11, 13),
        slot(5_002, 24 * 3 + 12.5, 24 * 3 + 13, place_id=place_id(1)),
        slot(5_003, 24 * 5 + 13, 24 * 5 + 18),
        slot(5_004, 24 * 6 + 14, 24 * 6 + 15, skills=frozenset({"fireworks"})),
        slot(5_005, 24 * 7 + 14, 24 * 7 + 15),
    ]
    assignments += [given(5_000 + number, number) for number in range(1, 6)]
    base[302] = replace(base[302], place_id=place_id(0))
    busy = Availability(span(24 * 7 + 14.5, 24 * 7 + 16), AvailabilityKind.BUSY)
    crew[5] = replace(crew[5], availabilities=(busy,))
    wanted = {
        (ConflictKind.OVERLAP, person_id(1), (slot_id(1), slot_id(5_001))),
        (ConflictKind.TRAVEL, person_id(2), (slot_id(302), slot_id(5_002))),
        (ConflictKind.HOURS, person_id(3), (slot_id(503), slot_id(5_003))),
        (ConflictKind.SKILL, person_id(4), (slot_id(5_004),)),
        (ConflictKind.AVAILABILITY, person_id(5), (slot_id(5_005),)),
    }
    plan = Plan((*base, *extra), tuple(crew), tuple(assignments), travel=places((0, 1, 45)))
    return plan, wanted


def test_planted_conflicts_are_found_and_no_others(store: Database, org: UUID) -> None:
    plan, wanted = planted()
    with undone(store) as tx:
        project, _ = store_plan(tx, org, plan)
        found = plans.find_conflicts(tx, project, ALL).conflicts
        again = plans.find_conflicts(tx, project, ALL).conflicts
    assert {(one.kind, one.collaborator_id, one.slot_ids) for one in found} == wanted
    assert [one.conflict_id for one in found] == [one.conflict_id for one in again]


def test_of_many_conflicts_some_of_each_kind_are_read_and_all_are_counted(store: Database, org: UUID) -> None:
    """Of 40 slots of one person at once, for which the person has neither skill, time nor hours."""
    numbers, away = range(40), Availability(span(0, 99), AvailabilityKind.BUSY)
    slots = tuple(slot(number, 8, 10, skills=frozenset({"sound"})) for number in numbers)
    apart = tuple(slot(100 + number, 10, 11, place_id=place_id(number % 2)) for number in numbers)
    who = person(1, availabilities=(away,), most_minutes_a_day=60, most_minutes_a_week=60)
    late = (slot(201, 11, 12, place_id=place_id(0)),)
    everything = (*slots, *apart, *late)
    assignments = tuple(Assignment(one.slot_id, who.collaborator_id) for one in everything)
    with undone(store) as tx:
        project, _ = store_plan(tx, org, Plan(everything, (who,), assignments, travel=places((0, 1, 30))))
        found = plans.find_conflicts(tx, project, ALL, most=7)
        every = plans.find_conflicts(tx, project, ALL)
    assert (
        found.counts
        == every.counts
        == {
            ConflictKind.SKILL: 40,
            ConflictKind.AVAILABILITY: 81,
            ConflictKind.OVERLAP: 2 * 40 * 39 // 2,
            ConflictKind.TRAVEL: 20,
            ConflictKind.HOURS: 2,
        }
    )
    assert Counter(one.kind for one in found.conflicts) == {kind: min(7, count) for kind, count in every.counts.items()}
    assert len(every.conflicts) == every.total


def one_slot_and_work_elsewhere() -> Plan:
    busy = (Commitment(person_id(1), span(9, 11)),)
    return Plan((slot(1, 8, 10),), (person(1),), (given(1, 1),), busy)


def test_what_people_do_in_other_sheets_and_projects_is_taken_time(store: Database, org: UUID) -> None:
    with undone(store) as tx:
        project, _ = store_plan(tx, org, one_slot_and_work_elsewhere())
        other = run_sheets.add(tx, project.ref, "Saturday").run_sheet_id
        run_sheets.add_slot(tx, project.ref, other, slot(2, 12, 14))
        loaded = plans.load(tx, project, other)
    assert [one.name for one in loaded.slots] == ["slot 2"]
    assert [(one.collaborator_id, one.span) for one in loaded.commitments] == [
        (person_id(1), span(8, 10)),
        (person_id(1), span(9, 11)),
    ]


def test_a_project_learns_nothing_of_people_who_are_not_its_own(store: Database, org: UUID) -> None:
    with store.ledger() as tx:
        project, _ = store_plan(tx, org, one_slot_and_work_elsewhere())
    ask = "select count(*) from postroom.commitments_of(%(org)s, %(project)s)"
    with store.tenant(org, project.project_id) as tx:
        assert tx.raw(ask, {"org": org, "project": project.project_id})[0][0] == 1
    with store.tenant(org) as tx:
        query = "select id from projects where org_id = %(org)s and id <> %(id)s"
        ((other,),) = tx.raw(query, {"org": org, "id": project.project_id})
    for owner, asked_org, asked_project in ((other, org, project.project_id), (project.project_id, UUID(int=1), other)):
        with pytest.raises(Forbidden), store.tenant(org, owner) as tx:
            tx.raw(ask, {"org": asked_org, "project": asked_project})
