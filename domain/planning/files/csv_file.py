"""A CSV file that somebody made: which encoding, which delimiter, which columns; and everything that is wrong with it.

Nothing is guessed: a byte order mark decides about the encoding, else the name that was given. What does not fit is a
fault of its row and column, and all faults are found at once.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from domain.documents.faults import Faults
from domain.jobs.failures import Invalid
from domain.planning.files.csv_columns import Column, read_field

ENCODINGS = {
    "utf-8": "utf-8",
    "utf-16": "utf-16",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
    "windows-1250": "cp1250",
    "windows-1251": "cp1251",
    "windows-1252": "cp1252",
    "iso-8859-1": "iso-8859-1",
    "iso-8859-2": "iso-8859-2",
    "iso-8859-15": "iso-8859-15",
    "us-ascii": "us-ascii",
}
"""The names that may be given, as IANA has them, and Python's."""
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
DELIMITERS = ",;\t|"
HINT = re.compile(r'\A\ufeff?"?sep=([^"\r\n\w])"?[,;\t| ]*(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
"""The first line by which Excel takes a delimiter; it shows no row for it."""
UNSEEN = "\ufeff\u200b\u200e\u200f\u2060"
MOST_TITLES = 20
"""Rows among which the header is looked for, those that say nothing not counted."""
LONGEST_HEAD = 65_536
MOST_BYTES = 20_000_000
MOST_ROWS = 100_000
MOST_COLUMNS = 1_000
"""Fields of a header, most of which are unknown then. A spreadsheet's file may end in some empty ones."""
LONGEST_FIELD = 65_536
MOST_FAULTS = 10_000
"""Faults that are listed. A file with more has one that is everywhere, such as a wrong zone."""


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row of a file: its number, the header being the first, and its values by column."""

    row: int
    values: dict[str, Any]
    texts: dict[str, str]
    """The fields as they stand in the file, for faults."""


def encoding_of(data: bytes, named: str) -> tuple[str, int]:
    """Python's name of the encoding, and how many bytes the mark takes; raises `Invalid` for an unknown name."""
    known = ENCODINGS.get(named.strip().lower())
    if known is None:
        raise Invalid("encoding", f"must be one of {', '.join(ENCODINGS)}")
    return next(((name, len(mark)) for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), (known, 0))


def read_records(data: bytes, columns: Sequence[Column], encoding: str, faults: Faults) -> Iterator[CsvRow]:
    """The rows of a file that have no fault themselves; the faults of all others are added.

    The header is the first row that names all required columns, else the first that names any, among the first rows.
    Titles may be before it, rows of one value: a row of more is a fault. Names are compared without regard to case. A
    column that is not known is a fault, and so is a value in a column without a name: nothing is left out silently. A
    column that is missing is left out of the values.
    """
    text = decoded(data, encoding, faults)
    if text is None:
        return
    delimiter, head = _layout(text, columns)
    rows = ((row, fields) for row, fields in _rows(HINT.sub("", text), delimiter, faults) if _says_something(fields))
    before, header = list(islice(rows, head)), next(rows, None)
    if header is None:
        if not faults:
            faults.add((0, ""), "the file is empty")
        return
    number, names = header
    if len(names) > MOST_COLUMNS:
        faults.add((number, ""), f"the header has {len(names)} fields, {MOST_COLUMNS} at most")
        return
    named = sum(bool(_plain(name)) for name in names)
    found = _header(number, names, columns, faults)
    for row in (row for row, fields in before if sum(bool(one.strip()) for one in fields) > 1):
        faults.add((row, ""), f"is before the header in row {number}, and no title: it has more than one value")
    for row, fields in rows:
        record = _record(row, fields, names, found, faults)
        if record is not None and len(found) == named:
            yield record


def _says_something(fields: Sequence[str]) -> bool:
    return bool("".join(fields).strip())


def decoded(data: bytes, encoding: str, faults: Faults) -> str | None:
    """The text, in which bytes that are none are lone surrogates; the fields that have them become faults."""
    if len(data) > MOST_BYTES:
        faults.add((0, ""), f"the file has {len(data)} bytes, {MOST_BYTES} at most")
        return None
    name, mark = encoding_of(data, encoding)
    wide = name.startswith("utf-16")
    try:
        return data[mark:].decode(name, "strict" if wide else "surrogateescape")
    except UnicodeDecodeError as error:
        faults.add((0, ""), f"is not {name}: byte {error.start + mark} fits no character")
        return None


def _layout(text: str, columns: Sequence[Column]) -> tuple[str, int]:
    """The delimiter, and how many rows that say something are before the header.

    Excel takes the delimiter from a first line such as `sep=;`, and so do we; else it is that of the best header.
    """
    hint = HINT.match(text)
    names = {column.name.casefold() for column in columns}
    required = {column.name.casefold() for column in columns if column.is_required}
    best = ((0, 0), hint[1] if hint else DELIMITERS[0], 0)
    for delimiter in hint[1] if hint else DELIMITERS:
        rows = _rows(HINT.sub("", text[:LONGEST_HEAD]), delimiter, Faults())
        head = islice((one for _, one in rows if _says_something(one)), MOST_TITLES)
        named = [{_plain(name) for name in fields} & names for fields in head]
        fits = [bool(one) + (required <= one) for one in named]
        index = fits.index(max(fits)) if fits else 0
        if fits and (fits[index], len(named[index])) > best[0]:
            best = ((fits[index], len(named[index])), delimiter, index)
    return best[1:]


def _plain(name: str) -> str:
    """A column's name without what is not seen around it."""
    return name.strip().strip(UNSEEN).strip().casefold()


def _rows(text: str, delimiter: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """The rows with their numbers; a row that cannot be told from the next ends the file."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    row = 0
    while True:
        row += 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            why = f"cannot be read ({error}); no row after it was looked at"
            if "field limit" in str(error):
                why = f"has a field of more than {LONGEST_FIELD} characters; no row after it was looked at"
            faults.add((row, ""), why)
            return
        if row > MOST_ROWS + 1:
            faults.add((row, ""), f"the file has more than {MOST_ROWS} rows")
            return
        yield row, fields


def _header(row: int, names: Sequence[str], columns: Sequence[Column], faults: Faults) -> dict[int, Column]:
    """The columns that are known by their positions, each once; the others are faults, and no row is right then.

    A column without a name is no fault: spreadsheets write the empty ones that once were in use.
    """
    known = {column.name.casefold(): column for column in columns}
    found: dict[str, int] = {}
    for position, name in enumerate(names):
        column = known.get(_plain(name))
        if column is not None:
            if found.setdefault(column.name, position) != position:
                faults.add((row, column.name), "comes twice in the header", value=name)
        elif _plain(name):
            why = _unreadable(name) or f"is no column; there are {', '.join(one.name for one in columns)}"
            # A row that is no header may have anything here, which belongs in no reason of a failure.
            faults.add((row, f"column {position + 1}"), why, value=name)
    return {position: known[name.casefold()] for name, position in found.items()}


def _record(
    row: int, fields: Sequence[str], names: Sequence[str], header: dict[int, Column], faults: Faults
) -> CsvRow | None:
    """A row; fields are looked at where the row has them or the column is known, however wide the header is."""
    if len(fields) > len(names) and _says_something(fields[len(names) :]):
        faults.add((row, ""), f"has {len(fields)} fields, and the header {len(names)}")
        return None
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    right = True
    for position, column in header.items():
        # Excel leaves out empty fields at the end of a row, but not in each row.
        text = texts[column.name] = fields[position] if position < len(fields) else ""
        why = _unreadable(text)
        try:
            values[column.name] = None if why else read_field(column, text)
        except ValueError as error:
            why = str(error)
        if why:
            faults.add((row, column.name), why, value=text)
            right = False
    for name, text in zip(names, fields, strict=False):
        if text.strip() and not _plain(name):
            faults.add((row, ""), "is in a column without a name", value=text)
            right = False
    return CsvRow(row, values, texts) if right else None


def _unreadable(text: str) -> str:
    """Why a field is no text; empty where it is."""
    return f"has more than {LONGEST_FIELD} characters" if len(text) > LONGEST_FIELD else why_no_text(text)


def why_no_text(text: str) -> str:
    """Why what was decoded is no text; empty where it is."""
    if "\0" in text:
        return "holds a NUL: is the file in UTF-16?"
    if any("\ud800" <= sign <= "\udfff" for sign in text):
        return "holds bytes that fit no character of the encoding: name the one that the file is in"
    return ""
