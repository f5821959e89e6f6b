"""A plan as rows and as paper: each person and each open place, and times that nobody takes for another."""

from datetime import UTC, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from domain.documents.faults import Faults
from domain.jobs.failures import Invalid
from domain.planning.files.csv_columns import write_lines
from domain.planning.files.csv_file import read_records
from domain.planning.files.plan_paper import (
    COLUMNS,
    MOST_ON_PAPER,
    PlannedSlot,
    PlanPaper,
    bounded_bytes,
    bounded_slots,
    table_rows,
    times,
)
from domain.planning.model import Span

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def planned(start: str, end: str, *people: str, headcount: int = 1) -> PlannedSlot:
    inside = tuple((UUID(int=index + 1), name) for index, name in enumerate(people))
    return PlannedSlot(UUID(int=9), "Load-in", Span(utc(start), utc(end)), headcount, "Day", "Hall", inside)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-03-02T09:00", "2026-03-02T11:00", "10:00\u201312:00"),
        ("2026-03-02T22:00", "2026-03-03T01:30", "23:00\u201302:30 +1"),
        ("2026-03-29T00:30", "2026-03-29T01:30", "01:30\u201303:30"),
        ("2026-10-25T00:30", "2026-10-25T01:30", "02:30 (UTC+02:00)\u201302:30 (UTC+01:00)"),
        ("2026-10-25T03:00", "2026-10-25T04:00", "04:00\u201305:00"),
    ],
)
def test_times_are_those_of_the_clocks_and_never_ambiguous(start: str, end: str, expected: str) -> None:
    assert times(Span(utc(start), utc(end)), BERLIN) == expected


def test_a_table_has_a_row_for_each_person_and_one_for_all_open_places() -> None:
    slot = planned("2026-03-02T09:00", "2026-03-02T11:00", "Ana", "=Ben", headcount=100)
    data = "".join(write_lines(COLUMNS, table_rows([slot], BERLIN))).encode()
    faults = Faults()
    records = list(read_records(data, COLUMNS, "utf-8", faults))
    assert not faults
    assert [(one.values["collaborator"], one.values["open_places"]) for one in records] == [
        ("Ana", 0),
        ("=Ben", 0),
        ("", 98),
    ]
    assert records[0].values["starts_at"] == slot.span.starts_at
    assert records[0].texts["starts"] == "2026-03-02 10:00:00"
    assert records[2].values["collaborator_id"] is None


@pytest.mark.parametrize(("people", "headcount"), [(0, 1), (0, 100), (2, 2), (2, 3), (3, 2)])
def test_a_slot_says_how_many_rows_it_takes(people: int, headcount: int) -> None:
    slot = planned("2026-03-02T09:00", "2026-03-02T11:00", *("Ana",) * people, headcount=headcount)
    assert len(list(table_rows([slot], BERLIN))) == slot.rows


@pytest.mark.parametrize(("bounds", "what"), [({"most": 1}, "1 slots"), ({"rows": 5}, "5 people and open slots")])
def test_a_plan_of_too_many_slots_or_rows_is_refused_by_its_field(bounds: dict[str, int], what: str) -> None:
    slots = [planned("2026-03-02T09:00", "2026-03-02T11:00", "Ana", "Ben", headcount=100)] * 2
    assert list(bounded_slots(slots, most=2, rows=6)) == slots
    with pytest.raises(Invalid, match=what) as refused:
        list(bounded_slots(slots, **bounds))
    assert refused.value.field == "payload.run_sheet_id"


def test_a_table_of_too_many_bytes_is_refused_by_its_field() -> None:
    lines = ["\U0001f3aa", "a"]
    assert list(bounded_bytes(lines, most=5)) == [one.encode() for one in lines]
    with pytest.raises(Invalid) as refused:
        list(bounded_bytes(lines, most=4))
    assert refused.value.field == "payload.run_sheet_id"


def test_people_beyond_the_headcount_leave_no_place_open() -> None:
    slot = planned("2026-03-02T09:00", "2026-03-02T11:00", "Ana", "Ben")
    assert [row[6] for row in table_rows([slot], BERLIN)] == ["Ana", "Ben"]


def test_a_paper_has_its_days_by_the_clocks_of_the_zone() -> None:
    late, early = planned("2026-03-02T23:30", "2026-03-03T01:00"), planned("2026-03-02T09:00", "2026-03-02T11:00")
    words = PlanPaper("Plan", (late, early), BERLIN, "1", utc("2026-03-01T00:00")).as_json()
    assert [day["name"] for day in words["days"]] == ["Monday, 2 March 2026", "Tuesday, 3 March 2026"]
    assert words["footer"] == "Times by the clocks of Europe/Berlin. Revision 1, made 01:00 on Sunday, 1 March 2026."


def test_what_fits_on_no_paper_is_refused() -> None:
    slot = planned("2026-03-02T09:00", "2026-03-02T11:00")
    with pytest.raises(Invalid, match="paper"):
        PlanPaper("Plan", (slot,), BERLIN, "1", utc("2026-03-01T00:00"), paper="b7")
    with pytest.raises(Invalid, match="take csv"):
        PlanPaper("Plan", (slot,) * (MOST_ON_PAPER + 1), BERLIN, "1", utc("2026-03-01T00:00"))
