"""Availability from a table: what is read, and every fault by row, column, value and reason."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.planning.calendars.availability import AvailabilityEntry, FoundAvailability, compare
from domain.planning.calendars.availability_csv import read_table
from domain.planning.files.csv_file import LONGEST_FIELD, MOST_BYTES, MOST_FAULTS, MOST_ROWS
from domain.planning.model import Availability, AvailabilityKind, Span

BERLIN = "Europe/Berlin"
GOOD = "collaborator,from,until\nana@example.com,2026-03-02 10:00,2026-03-02 12:00\n"


def read(text: str | bytes, encoding: str = "utf-8", *, needs_collaborator: bool = True) -> FoundAvailability:
    data = text if isinstance(text, bytes) else text.encode()
    return read_table(data, zone=BERLIN, encoding=encoding, needs_collaborator=needs_collaborator)


def faults(text: str | bytes, encoding: str = "utf-8") -> list[tuple[int | str, ...]]:
    found = read(text, encoding)
    return [(*one.path, one.value) for one in found.faults.listed]


def span(start: str, end: str) -> Span:
    zone = ZoneInfo(BERLIN)
    return Span(datetime.fromisoformat(start).replace(tzinfo=zone), datetime.fromisoformat(end).replace(tzinfo=zone))


def spans(text: str) -> list[Span]:
    found = read(text)
    assert not found.faults.listed
    return [one.availability.span for one in found.entries]


TEN_TO_TWELVE = span("2026-03-02T10:00", "2026-03-02T12:00")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_marks_delimiters_and_line_ends_are_found(delimiter: str, encoding: str, ending: str) -> None:
    text = GOOD.replace(",", delimiter).replace("\n", ending)
    found = read(text.encode(encoding))
    assert [one.availability.span for one in found.entries] == [TEN_TO_TWELVE]
    assert (found.read, found.floating, found.faults.listed) == (1, 2, [])


def test_names_are_compared_without_case_and_columns_come_in_any_order() -> None:
    text = ' "UNTIL" ;Kind;From;COLLABORATOR\n2026-03-02 12:00;Preferred;2026-03-02 10:00;ana\n'
    (entry,) = read(text.replace(' "UNTIL" ', "UNTIL")).entries
    assert entry.availability == Availability(TEN_TO_TWELVE, AvailabilityKind.PREFERRED)
    assert entry.collaborator == "ana"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-03-02T10:00", "2026-03-02 12:00:00", TEN_TO_TWELVE),
        ("2026-03-02T09:00Z", "2026-03-02T12:00+01:00", TEN_TO_TWELVE),
        ("2026-03-02", "2026-03-03", span("2026-03-02T00:00", "2026-03-04T00:00")),
        ("2026-03-29", "2026-03-29", span("2026-03-29T00:00", "2026-03-30T00:00")),
        ("2026-03-29 01:30", "2026-03-29 02:30", span("2026-03-29T01:30", "2026-03-29T03:30")),
    ],
)
def test_times_are_clock_times_moments_or_whole_days(start: str, end: str, expected: Span) -> None:
    assert spans(f"collaborator,from,until\nana,{start},{end}") == [expected]


def test_a_file_for_one_person_names_nobody() -> None:
    (entry,) = read("from,until\n2026-03-02 10:00,2026-03-02 12:00", needs_collaborator=False).entries
    assert entry.collaborator == ""


def test_an_id_is_kept_and_made_of_the_row_otherwise() -> None:
    text = "collaborator,from,until,id\nana,2026-03-02,2026-03-02,x1\nana,2026-03-02,2026-03-02,\n"
    first, second = read(text).entries
    assert first.external_id == "x1"
    assert len(second.external_id) == 64
    assert read(text).entries[1].external_id == second.external_id


def test_an_apostrophe_before_a_formula_is_undone() -> None:
    (entry,) = read("collaborator,from,until\n'=ana,2026-03-02,2026-03-02").entries
    assert entry.collaborator == "=ana"


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        (",2026-03-02,2026-03-02", "collaborator", ""),
        ("ana,,2026-03-02", "from", ""),
        ("ana,2.3.2026,2026-03-02", "from", "2.3.2026"),
        ("ana,2026-03-02,2026-02-30", "until", "2026-02-30"),
        ("ana,2026-03-02,2026-03-01", "until", "2026-03-01"),
        ("ana,2026-03-02 10:00,2026-03-02 10:00", "until", "2026-03-02 10:00"),
        ("ana,2026-03-02 10:00,2026-03-02", "until", "2026-03-02"),
        ("ana,2026-03-29 02:30,2026-03-29 03:30", "until", "2026-03-29 03:30"),
        ("ana,9999-12-31,9999-12-31", "until", "9999-12-31"),
        ("ana,0001-01-01,0001-01-01", "until", "0001-01-01"),
        ("ana,2026-03-02,2026-03-02,maybe", "kind", "maybe"),
        (f"ana,2026-03-02,2026-03-02,,{'x' * 201}", "id", f"{'x' * 100}…"),
        ("ana,2026-03-02,2026-03-02,,,more", "", ""),
        (f"{'x' * (LONGEST_FIELD + 1)},2026-03-02,2026-03-02", "collaborator", f"{'x' * 100}…"),
        ("a\0na,2026-03-02,2026-03-02", "collaborator", "a\\x00na"),
    ],
)
def test_a_fault_names_row_column_and_value(row: str, column: str, value: str) -> None:
    text = f"collaborator,from,until,kind,id\nben,2026-03-02,2026-03-02,,\n{row}\n"
    assert faults(text) == [(3, column, value)]


def test_all_faults_of_all_rows_are_found_at_once() -> None:
    text = "collaborator,from,until,kind\n,x,y,z\nana,2026-03-02,2026-03-02,\n,x,2026-03-02,\n"
    assert [one[:2] for one in faults(text)] == [
        (2, "collaborator"),
        (2, "kind"),
        (2, "from"),
        (2, "until"),
        (4, "collaborator"),
        (4, "from"),
    ]


def test_a_row_number_is_that_of_the_spreadsheet() -> None:
    """Blank rows count, and a row with a line break in a field is one."""
    assert faults('\ncollaborator,from,until\n\n"a\nb",2026-03-02,2026-03-02\n,,\nana,x,2026-03-02\n') == [
        (6, "from", "x")
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (0, "", "")),
        ("\n\n", (0, "", "")),
        ("collaborator,from,until,color\n", (1, "column 4", "color")),
        ("collaborator,from,until,From\n", (1, "from", "From")),
        ('collaborator,from,until\n"ana,2026-03-02,2026-03-02\n', (2, "", "")),
        ('collaborator,from,until\n"ana"x,2026-03-02,2026-03-02\n', (2, "", "")),
        (f"collaborator,from,until\n{'x' * 10_000_000},2026-03-02,2026-03-02\n", (2, "", "")),
        ("x" * (MOST_BYTES + 1), (0, "", "")),
    ],
)
def test_a_file_that_is_no_table_has_a_fault(text: str, expected: tuple[int, str, str]) -> None:
    assert faults(text) == [expected]


def test_bytes_of_another_encoding_are_a_fault_and_never_other_letters() -> None:
    text = "collaborator,from,until\nRené,2026-03-02,2026-03-02\n"
    assert faults(text.encode("cp1252")) == [(2, "collaborator", "Ren\\xe9")]
    (entry,) = read(text.encode("cp1252"), "windows-1252").entries
    assert entry.collaborator == "René"
    assert faults(text.replace("é", "\x81").encode("latin-1"), "windows-1252") == [(2, "collaborator", "Ren\\x81")]


def test_utf_16_without_a_mark_is_a_fault_until_it_is_named() -> None:
    data = GOOD.encode("utf-16-le")
    found = read(data)
    assert "UTF-16" in found.faults.listed[0].reason
    assert len(read(data, "utf-16-le").entries) == 1
    assert faults(b"\xff\xfe" + data[:-1]) == [(0, "", "")]


def test_a_mark_wins_over_the_name() -> None:
    assert len(read(GOOD.encode("utf-8-sig"), "windows-1252").entries) == 1


@pytest.mark.parametrize("encoding", ["zlib", "rot13", "utf-7", ""])
def test_only_encodings_on_the_list_are_taken(encoding: str) -> None:
    with pytest.raises(Invalid, match="encoding"):
        read(GOOD, encoding)


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "../../etc/passwd", "", "\0"])
def test_a_zone_must_exist(zone: str) -> None:
    with pytest.raises(Invalid, match="zone"):
        read_table(GOOD.encode(), zone=zone, needs_collaborator=True)


def test_the_same_id_twice_is_a_fault_and_the_same_row_twice_is_one() -> None:
    header, row = "collaborator,from,until,id\n", "ana,2026-03-02,2026-03-02"
    assert faults(f"{header}{row},x\n{row},x\nben{row[3:]},x\n") == [(3, "id", "x")]
    found = read(f"{header}{row},\n{row},\n")
    assert (len(found.entries), found.ignored) == (1, {"repeated": 1})


FIELDS = st.sampled_from(
    [
        "ana",
        "2026-03-02",
        "2026-03-02 10:00",
        "9999-12-31T23:59:59+00:00",
        "0001-01-01T00:00:00+23:59",
        '"',
        "busy",
        "\0",
        "é",
        ";",
    ]
)


@given(st.lists(st.lists(FIELDS, max_size=5).map(",".join), max_size=5).map("\n".join), st.binary(max_size=20))
def test_no_file_is_more_than_faults(rows: str, ending: bytes) -> None:
    found = read(f"collaborator,from,until,kind,id\n{rows}\n".encode() + ending)
    assert all(one.reason for one in found.faults.listed)
    assert not (found.faults.listed and found.entries)


def test_faults_and_rows_are_bounded() -> None:
    found = read("from\n" + "x\n" * (MOST_ROWS + 5), needs_collaborator=False)
    assert len(found.faults.listed) == MOST_FAULTS
    assert found.faults.more == 2 * MOST_ROWS + 1 - MOST_FAULTS, (
        "until is missing in each row; the last is the number of rows"
    )


def test_the_same_file_twice_changes_nothing() -> None:
    entries = read(GOOD).entries
    stored = {(one.collaborator, one.external_id): one.availability for one in entries}
    assert compare({}, entries).new == tuple(entries)
    assert compare(stored, entries) == compare(stored, reversed(entries))
    assert compare(stored, entries).unchanged == 1
    moved = AvailabilityEntry(
        entries[0].collaborator, entries[0].external_id, Availability(span("2026-03-02", "2026-03-03"))
    )
    assert compare(stored, [moved]).changed == (moved,)


ROW = "2026-03-02 10:00;2026-03-02 12:00;busy"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (f"from;until;kind;\n{ROW};\n", 2),
        (f"from;until;kind;;;\n{ROW};;;\n;;;;;\n;;;;;\n", 2),
        (f";from;until;kind\n;{ROW}\n", 2),
        (f"sep=;\nfrom;until;kind\n{ROW}\n", 1 + 1),
        (f"\ufeffSEP=;\r\n\ufefffrom;until;kind\r\n{ROW}\r\n", 2),
        (f'"sep=;";;\nfrom;until;kind\n{ROW}\n', 2),
        (f"sep=^\nfrom^until^kind\n{ROW.replace(';', '^')}\n", 2),
        (f"\n \n;;;\nfrom;until;kind\n{ROW}\n", 5),
        (f"Times, of Ana: all\n;;\nMade on 2026-03-01;;\n\nfrom;until;kind\n{ROW}\n", 6),
        (f"\xa0from ;\u200buntil\u200b; Kind\xa0\n\xa0{ROW}\xa0\n", 2),
        (f'"from";"until";"kind"\n{ROW}\n"\n";" ";\n', 2),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_is_read_as_spreadsheets_write_it(text: str, row: int, encoding: str) -> None:
    """Hints, titles, blank rows, closing delimiters and columns without a name; rows are those of the spreadsheet."""
    found = read(text.encode(encoding), needs_collaborator=False)
    assert found.faults.listed == []
    assert [one.availability for one in found.entries] == [Availability(TEN_TO_TWELVE, AvailabilityKind.BUSY)]
    wrong = read(text.replace("busy", "bus").encode(encoding), needs_collaborator=False)
    assert [one.path for one in wrong.faults.listed] == [(row, "kind")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("collaborator,from,until,\nana,2026-03-02,2026-03-02,busy\n", (2, "", "busy")),
        ("ana,2026-03-02,2026-03-02\ncollaborator,from,until\nben,2026-03-02,2026-03-02\n", (1, "", "")),
        ("Times of Ana\ncollaborator,from,until,color\n", (2, "column 4", "color")),
        ("sep=;\ncollaborator,from\n", (1, "column 1", "collaborator,from")),
        ("ana,2026-03-02,2026-03-02,,\ncollaborator,from,until,kind,id\ncy,2026-03-02,2026-03-02,,\n", (1, "", "")),
        ("from,until\ncollaborator,from,until\nana,2026-03-02,2026-03-02\n", (1, "", "")),
        ("ana,2026-03-02\ncollaborator\nben\n", (1, "", "")),
    ],
)
def test_what_a_table_has_beside_its_columns_is_a_fault(text: str, expected: tuple[int, str, str]) -> None:
    assert faults(text)[0] == expected


@pytest.mark.parametrize("second", ["from,until,kind", "from,until", "kind,until,from", "until,from"])
def test_a_second_header_is_a_row_that_is_wrong(second: str) -> None:
    """The first row that names what must be there is the header; no row before another one is lost."""
    text = f"from,until\n2026-01-01,2026-01-02\n{second}\n2026-01-03,2026-01-04\n"
    found = read_table(text.encode(), zone=BERLIN, needs_collaborator=False)
    assert {one.path[0] for one in found.faults.listed} == {3}
    assert found.entries == []


ROWS = st.sampled_from(
    ["from,until", "until,from,kind", "2026-03-02,2026-03-02", "2026-03-03,2026-03-04,busy", "kind", "Ana", "", ",ana,"]
)


@given(st.lists(ROWS, max_size=6).map(lambda rows: ["from,until", *rows]).flatmap(st.permutations))
def test_a_table_without_a_fault_has_lost_no_row_of_values(rows: list[str]) -> None:
    found = read_table("\n".join(rows).encode(), zone=BERLIN, needs_collaborator=False)
    with_values = sum(sum(map(bool, row.split(","))) > 1 for row in rows)
    assert found.faults.listed or len(found.entries) + found.ignored["repeated"] == with_values - 1
