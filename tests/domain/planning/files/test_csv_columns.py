"""What is written comes back unchanged, text that a spreadsheet would calculate is text, and numbers stay numbers."""

import csv
import io
import re
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.documents.faults import Faults
from domain.jobs.failures import Invalid
from domain.planning.files.csv_columns import (
    BOM,
    Column,
    ColumnType,
    escape,
    read_field,
    unescape,
    write_field,
    write_lines,
)
from domain.planning.files.csv_file import read_records

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
HOSTILE = st.text(st.sampled_from("'=+-@\uff1d\uff0b\uff0d\uff20\u2212\t\r\n \u00a0\u200b\ufeff\",;|a1"))
OFFSETS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(
    lambda one: timezone(timedelta(seconds=one.seconds // 60 * 60))
)
VALUES: dict[ColumnType, st.SearchStrategy[Any]] = {
    ColumnType.TEXT: TEXTS | HOSTILE,
    ColumnType.WHOLE: st.integers(-(10**18) + 1, 10**18 - 1) | st.none(),
    ColumnType.DECIMAL: st.decimals(
        allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9
    )
    | st.none(),
    ColumnType.DAY: st.dates() | st.none(),
    ColumnType.CLOCK: st.datetimes() | st.none(),
    ColumnType.MOMENT: st.datetimes(datetime(2, 1, 1), timezones=OFFSETS) | st.none(),  # noqa: DTZ001 - zones are given
    ColumnType.FLAG: st.booleans() | st.none(),
    ColumnType.ID: st.uuids() | st.none(),
}
COLUMNS = [Column(f"column {number}", kind) for number, kind in enumerate(ColumnType)]
ROWS = st.lists(st.tuples(*(VALUES[column.type] for column in COLUMNS)), max_size=5)


def written(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> bytes:
    return "".join(write_lines(columns, rows)).encode()


@given(ROWS)
def test_what_is_written_comes_back_unchanged(rows: list[tuple[Any, ...]]) -> None:
    faults = Faults()
    records = list(read_records(written(COLUMNS, rows), COLUMNS, "utf-8", faults))
    assert not faults
    blank = [row for row in rows if any(write_field(c, v).strip() for c, v in zip(COLUMNS, row, strict=True))]
    assert [tuple(record.values.values()) for record in records] == blank, "rows that say nothing are left out"


@given(TEXTS | HOSTILE)
@example('=HYPERLINK("http://example.com")')
@example("'=1")
@example("''=1")
@example("\ufeff=1")
def test_an_escape_is_undone_and_nothing_else_is(text: str) -> None:
    assert unescape(escape(text)) == text
    assert escape(text) == text or escape(text) == f"'{text}"


FULL_WIDTH_AND_SMALL = "\uff1d\uff0b\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b\u2212"


@given(TEXTS | HOSTILE)
def test_no_field_of_text_begins_like_a_formula(text: str) -> None:
    assert not re.match(rf"[\s\u200b\ufeff]*[=+\-@{FULL_WIDTH_AND_SMALL}]|[ ]*[\t\r]", escape(text))


@pytest.mark.parametrize(
    "formula",
    [
        "=1+1",
        "-2+3+cmd|' /C calc'!A0",
        "+1",
        "@SUM(A1)",
        "\uff1d1+1",
        "  =1",
        "\t=1",
        "\r=1",
        "\n=1",
        "\u00a0=1",
        "\u200b=1",
    ],
)
def test_a_formula_in_any_disguise_is_text(formula: str) -> None:
    assert write_field(Column("name"), formula) == f"'{formula}"
    assert read_field(Column("name"), f"'{formula}") == formula


def test_numbers_and_times_are_never_escaped() -> None:
    rows = [[-5, Decimal("-1.50"), datetime(2026, 3, 29, 1, tzinfo=UTC)]]
    columns = [Column("a", ColumnType.WHOLE), Column("b", ColumnType.DECIMAL), Column("c", ColumnType.MOMENT)]
    assert written(columns, rows).decode() == f"{BOM}a,b,c\r\n-5,-1.50,2026-03-29T01:00:00+00:00\r\n"


def test_a_name_that_needs_no_escape_has_none() -> None:
    for name in ("O'Brien", "'s-Hertogenbosch", "Ana-Maria", "a=b", "", "1-2"):
        assert write_field(Column("name"), name) == name


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ColumnType.TEXT, "a\0b"),
        (ColumnType.TEXT, "\ud800"),
        (ColumnType.TEXT, 5),
        (ColumnType.WHOLE, True),
        (ColumnType.WHOLE, 10**18),
        (ColumnType.DECIMAL, Decimal("NaN")),
        (ColumnType.DECIMAL, Decimal("1E+1000000")),
        (ColumnType.DECIMAL, 1.5),
        (ColumnType.DAY, datetime(2026, 1, 1, tzinfo=UTC)),
        (ColumnType.CLOCK, datetime(2026, 1, 1, tzinfo=UTC)),
        (ColumnType.MOMENT, datetime(2026, 1, 1)),  # noqa: DTZ001 - a moment without an offset is the point
        (ColumnType.FLAG, 1),
        (ColumnType.ID, "not an id"),
    ],
)
def test_what_is_not_of_its_columns_type_is_refused_by_name(kind: ColumnType, value: object) -> None:
    with pytest.raises(Invalid) as refusal:
        write_field(Column("amount", kind), value)
    assert refusal.value.field == "amount"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ColumnType.WHOLE, "1.5"),
        (ColumnType.WHOLE, "1" * 5_000),
        (ColumnType.WHOLE, "\u0661"),
        (ColumnType.DECIMAL, "1,5"),
        (ColumnType.DECIMAL, "NaN"),
        (ColumnType.DECIMAL, "1e999999"),
        (ColumnType.DAY, "29.3.2026"),
        (ColumnType.CLOCK, "2026-03-29"),
        (ColumnType.MOMENT, "2026-03-29T10:00"),
        (ColumnType.FLAG, "maybe"),
        (ColumnType.ID, "1"),
    ],
)
def test_a_field_that_is_not_of_its_type_says_why(kind: ColumnType, text: str) -> None:
    with pytest.raises(ValueError, match=r"^is "):
        read_field(Column("amount", kind), text)


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_opens_the_file_and_shows_the_same_cells(tmp_path: Path) -> None:
    cells = ["Ana", "=1+1", "-2+3", 'quote " in it', "two\nlines", "Łukasz", "0012"]
    (tmp_path / "plan.csv").write_bytes(written([Column("name")], [[cell] for cell in cells]))
    # The filter's options: comma, quote, UTF-8, from the first line, no formulas (docs of LibreOffice: filter options).
    subprocess.run(  # noqa: S603  # the arguments are constants
        [shutil.which("soffice") or "", "--headless", "--infilter=CSV:44,34,76,1", "--convert-to", "ods", "plan.csv"],
        cwd=tmp_path,
        check=True,
        timeout=120,
    )
    subprocess.run(  # noqa: S603  # the arguments are constants
        [
            shutil.which("soffice") or "",
            "--headless",
            "--convert-to",
            "csv:Text - txt - csv (StarCalc):44,34,76,1",
            "plan.ods",
        ],
        cwd=tmp_path,
        check=True,
        timeout=120,
    )
    shown = list(csv.reader(io.StringIO((tmp_path / "plan.csv").read_text("utf-8-sig"))))
    assert [unescape(row[0]) for row in shown[1:]] == cells
