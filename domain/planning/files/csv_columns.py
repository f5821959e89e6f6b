"""Tables as CSV: each column has a type, so that a spreadsheet opens them right and an import reads them unchanged.

Text that a spreadsheet would calculate gets an apostrophe before it, by the column's type and not by the value's look:
a number below zero stays a number. (OWASP, "CSV Injection".) The form is that of RFC 4180: comma, quotes, CRLF; a byte
order mark before it says UTF-8, without which Excel reads another encoding.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any
from uuid import UUID

from domain.jobs.failures import Invalid

BOM = "\ufeff"
WHOLE_DIGITS = 18
DECIMAL_DIGITS = 100

_SIGNS = re.escape("=+-@\uff1d\uff0b\uff0d\uff20\u207a\u207b\ufe62\ufe63\ufe66\ufe6b\u2212")
"""What begins a formula, also in full width and in small forms, which some versions take for the plain signs."""
_BLANK = r"\s\u200b-\u200f\u2060\ufeff"
"""What a spreadsheet may leave out before a formula, the invisible characters among it."""
_CALCULATED = re.compile(rf"'*[{_BLANK}]*[{_SIGNS}]|'*[{_BLANK}]*[\t\r\n]")
"""Text that a spreadsheet may calculate, or that begins like such text after an escape: the escape can be undone."""


class ColumnType(StrEnum):
    """What a column holds, and how a value is written."""

    TEXT = "text"
    WHOLE = "whole number"
    DECIMAL = "decimal"
    """With a point."""
    DAY = "day"
    """2026-03-29."""
    CLOCK = "clock time"
    """2026-03-29 10:00:00, a day and time without a zone: spreadsheets calculate with it."""
    MOMENT = "moment"
    """2026-03-29T10:00:00+02:00, with its offset from UTC."""
    FLAG = "yes or no"
    ID = "id"
    """A UUID."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name and type. An empty field is no value, and in a text column the empty text."""

    name: str
    type: ColumnType = ColumnType.TEXT
    is_required: bool = False
    """Whether a header has it in any table that can be taken."""


def escape(text: str) -> str:
    """Text that stays text in a spreadsheet."""
    return f"'{text}" if _CALCULATED.match(text) else text


def unescape(text: str) -> str:
    """The text that was escaped; other text as it is."""
    return text[1:] if text.startswith("'") and _CALCULATED.match(text, 1) else text


def write_lines(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """The file line by line, the byte order mark first; raises `Invalid` with the column for what no file can hold."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)  # its form is Excel's: comma, quotes where they are needed, CRLF
    buffer.write(BOM)
    writer.writerow([escape(column.name) for column in columns])
    yield buffer.getvalue()
    for row in rows:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow([write_field(column, value) for column, value in zip(columns, row, strict=True)])
        yield buffer.getvalue()


def write_field(column: Column, value: Any) -> str:  # noqa: ANN401 - by the column's type
    """A value as the file has it; raises `Invalid` with the column for what is not of its type."""
    if value is None:
        return ""
    kinds, write = WRITERS[column.type]
    text = write(value) if type(value) in kinds else None
    if text is None:
        raise Invalid(column.name, f"holds what cannot be written as {column.type}")
    return text


def _write_text(value: str) -> str | None:
    """None for characters that no text file can hold."""
    return None if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value) else escape(value)


def _write_whole(value: int) -> str | None:
    return str(value) if abs(value) < 10**WHOLE_DIGITS else None


def _write_decimal(value: Decimal) -> str | None:
    written = (
        value.is_finite() and abs(value.adjusted()) < DECIMAL_DIGITS and len(value.as_tuple().digits) < DECIMAL_DIGITS
    )
    return format(value, "f") if written else None


def _write_clock(value: datetime) -> str | None:
    return value.isoformat(" ") if value.utcoffset() is None else None


def _write_moment(value: datetime) -> str | None:
    return None if value.utcoffset() is None else value.isoformat()


WRITERS: dict[ColumnType, tuple[tuple[type, ...], Callable[[Any], str | None]]] = {
    ColumnType.TEXT: ((str,), _write_text),
    ColumnType.WHOLE: ((int,), _write_whole),
    ColumnType.DECIMAL: ((Decimal,), _write_decimal),
    ColumnType.DAY: ((date,), date.isoformat),
    ColumnType.CLOCK: ((datetime,), _write_clock),
    ColumnType.MOMENT: ((datetime,), _write_moment),
    ColumnType.FLAG: ((bool,), lambda value: "yes" if value else "no"),
    ColumnType.ID: ((UUID,), str),
}
"""By type: of which classes its values are, and how they are written."""


def _whole(text: str) -> int:
    if not re.fullmatch(rf"[+-]?[0-9]{{1,{WHOLE_DIGITS}}}", text):
        raise ValueError(text)
    return int(text)


def _decimal(text: str) -> Decimal:
    if not re.fullmatch(rf"[+-]?[0-9]{{1,{2 * DECIMAL_DIGITS}}}(\.[0-9]{{1,{2 * DECIMAL_DIGITS}}})?", text):
        raise ValueError(text)
    return Decimal(text)


def _clock(text: str) -> datetime:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", text, re.ASCII):
        raise ValueError(text)
    return datetime.fromisoformat(text)


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.utcoffset() is None:
        raise ValueError(text)
    return found


def _flag(text: str) -> bool:
    return {"yes": True, "no": False, "true": True, "false": False}[text.casefold()]


READERS: dict[ColumnType, tuple[Callable[[str], Any], str]] = {
    ColumnType.WHOLE: (_whole, "is no whole number"),
    ColumnType.DECIMAL: (_decimal, "is no number such as 12.5"),
    ColumnType.DAY: (date.fromisoformat, "is no day such as 2026-03-29"),
    ColumnType.CLOCK: (_clock, "is no day and time such as 2026-03-29 10:00"),
    ColumnType.MOMENT: (_moment, "is no moment with its offset, such as 2026-03-29T10:00:00+02:00"),
    ColumnType.FLAG: (_flag, "is neither yes nor no"),
    ColumnType.ID: (UUID, "is no UUID"),
}


def read_field(column: Column, text: str) -> Any:  # noqa: ANN401 - by the column's type
    """The value of a field; raises `ValueError` with the reason."""
    if column.type is ColumnType.TEXT:
        return unescape(text)
    stripped = text.strip()
    if not stripped:
        return None
    read, why = READERS[column.type]
    try:
        return read(stripped)
    except (ValueError, KeyError, InvalidOperation):
        raise ValueError(why) from None
