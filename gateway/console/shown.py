"""Records as a page shows them: each value by its kind, short in a table and whole on its own page."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from markupsafe import Markup, escape
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gateway.console.things import Things
from operations.operation import Record

Kind = Literal["nothing", "text", "number", "time", "badge", "id", "document", "record", "lines"]

LONGEST_CELL = 120
"""Characters of a text in a table."""
LONGEST_TEXT = 20_000
"""Characters of a text, or of a document, on the page of its own; the API gives the rest."""
MOST_LINES = 100
"""Lines of a table that lies within a record."""
LONGEST_WORD = 28
"""Letters of a word that is never broken in a table."""
JOINTS = re.compile(r"([._/])(?=\w)")

STATES = frozenset({"state", "status", "health", "verdict"})
TONES: Mapping[str, str] = {
    state: tone
    for tone, states in {
        "good": "succeeded finished done sent delivered active enabled executed approved verified replayed",
        "bad": "failed dead bounced denied expired refused disconnected erased",
        "warn": "unknown waiting approved_pending proposed aborted open paused disabled held doubt snoozed",
        "busy": "running claimed executing sending",
    }.items()
    for state in states.split()
}
"""The colour of a state beside its word; every other has none."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A value. `text` is what the page says, `whole` what it stands for, `parts` what lies within it."""

    kind: Kind
    text: str = ""
    whole: str = ""
    href: str | None = None
    tone: str = ""
    left_out: int = 0
    """Characters or lines that are not shown."""
    is_long: bool = False
    """Whether it has a word that must be broken."""
    entries: "Sequence[Entry]" = ()
    """The fields of a record within a record."""
    table: "Table | None" = None
    """The records within a record."""


@dataclass(frozen=True, slots=True)
class Line:
    """A record in a table, with the address of its own page."""

    cells: Sequence[Shown]
    href: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """Records as lines, and the names of their columns."""

    columns: Sequence[str]
    lines: Sequence[Line]

    def without(self, name: str) -> "Table":
        """The same table without a column that says the same in each line."""
        at = self.columns.index(name)
        lines = [replace(one, cells=[*one.cells[:at], *one.cells[at + 1 :]]) for one in self.lines]
        return Table([*self.columns[:at], *self.columns[at + 1 :]], lines)


@dataclass(frozen=True, slots=True)
class Entry:
    """A field of a record on its own page."""

    name: str
    words: str | None
    value: Shown


NOTHING = Shown("nothing")


def columns_of(record: type[BaseModel]) -> Sequence[str]:
    """The fields that a table shows."""
    named: Sequence[str] = getattr(record, "columns", ())
    return named or tuple(record.model_fields)


def line_of(record: Record, things: Things, href: str | None) -> Line:
    """A record as a line of a table. Its first cell leads to its page, where that has one."""
    return Line(_cells(type(record), document_of(record), things), href)


def entries_of(record: Record, things: Things) -> list[Entry]:
    """A record field by field: what is a value first, then what holds others."""
    return _entries(type(record), document_of(record), things)


def _cells(kind: type[BaseModel], document: Mapping[str, Any], things: Things) -> list[Shown]:
    return [
        shown(name, document.get(name), kind.model_fields[name], things, document, LONGEST_CELL)
        for name in columns_of(kind)
    ]


def _entries(kind: type[BaseModel], document: Mapping[str, Any], things: Things) -> list[Entry]:
    entries = [
        Entry(in_words(name), field.description, shown(name, document.get(name), field, things, document, LONGEST_TEXT))
        for name, field in kind.model_fields.items()
    ]
    order = {"record": 1, "lines": 2, "document": 3}
    return sorted(entries, key=lambda one: order.get(one.value.kind, 0))


def document_of(record: Record) -> dict[str, Any]:
    """A record as JSON says it, without what looks like a secret."""
    return record.without_secrets("json")


def shown(name: str, value: object, field: FieldInfo, things: Things, beside: Mapping[str, object], most: int) -> Shown:
    """A value of a field; `beside` is the document in which it is."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, dict | list):
        return _within(value, kind_of(field.annotation)[0], things, is_line=most == LONGEST_CELL)
    if isinstance(value, bool):
        return Shown("text", "yes" if value else "no")
    if isinstance(value, int | float):
        return Shown("number", f"{value:,}", str(value))
    return _text(name, str(value), kind_of(field.annotation)[0], things.address(name, str(value), beside), most)


def _text(name: str, text: str, kind: object, href: str | None, most: int) -> Shown:
    """What JSON writes as a text: an id, a time, a state, or words."""
    if kind is UUID:
        return Shown("id", text, text, href)
    if kind is datetime and (at := _time(text)) is not None:
        return Shown("time", at.strftime("%Y-%m-%d %H:%M:%S"), text)
    if name in STATES:
        return Shown("badge", in_words(text[:most]), text[:most], tone=TONES.get(text, ""))
    is_long = any(len(word) > LONGEST_WORD for word in text[:most].split())
    return Shown("text", text[:most], "", href, left_out=max(0, len(text) - most), is_long=is_long)


def in_words(name: str) -> str:
    """A field's name as a page says it."""
    return name.replace("_", " ").replace("-", " ")


def at(said: object) -> str:
    """A time, or one of a JSON document, to the second and without its zone, which is UTC."""
    return str(said)[:19].replace("T", " ")


def lasting(seconds: float) -> str:
    """How long something lasts, in the largest unit that it has."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def money(microcents: float) -> str:
    """Millionths of a US cent as dollars."""
    dollars = microcents / 100_000_000
    return f"${dollars:,.2f}" if dollars >= 1 or not dollars else f"${dollars:.4f}"


def breakable(text: str) -> Markup:
    """A text whose names break after a dot, an underscore or a slash: `maintenance.purge_` and `expired_keys`."""
    return Markup(JOINTS.sub(r"\1<wbr>", str(escape(text))))  # noqa: S704  # escaped


def in_prose(text: str) -> Markup:
    """Words of a declaration, in which what stands between back quotes is code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(one) if at % 2 else escape(one) for at, one in enumerate(parts)
    )


def _within(value: dict[str, Any] | list[Any], kind: object, things: Things, *, is_line: bool) -> Shown:
    """What lies within a record: other records, or a document of any shape."""
    if is_line or not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return in_json(value)
    number = f"{len(value):,} {'entry' if len(value) == 1 else 'entries'}"
    if isinstance(value, dict):
        return Shown("record", "its fields", entries=_entries(kind, value, things))
    lines = [Line(_cells(kind, one, things), None) for one in value[:MOST_LINES] if isinstance(one, dict)]
    return Shown("lines", number, table=Table(columns_of(kind), lines), left_out=max(0, len(value) - MOST_LINES))


def in_json(value: dict[str, Any] | list[Any]) -> Shown:
    """A document of any shape."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    number = len(value)
    what = (
        ("entry" if number == 1 else "entries") if isinstance(value, list) else ("field" if number == 1 else "fields")
    )
    return Shown("document", f"{number:,} {what}", text[:LONGEST_TEXT], left_out=max(0, len(text) - LONGEST_TEXT))


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def kind_of(annotation: Any) -> tuple[Any, bool]:  # noqa: ANN401 - any annotation
    """The type of a field's values, and whether it has several."""
    kind = _bare(annotation)
    origin = get_origin(kind) or kind
    if origin in {list, tuple, frozenset, set, Sequence}:
        inner = _bare(get_args(kind)[0])
        return (dict if get_origin(inner) is dict else inner), True
    return (dict if origin is dict else kind), False


def _bare(kind: Any) -> Any:  # noqa: ANN401 - any annotation
    """An annotation without None, and without what stands beside the type."""
    if get_origin(kind) in {Union, UnionType}:
        others = [one for one in get_args(kind) if one is not NoneType]
        return _bare(others[0]) if len(others) == 1 else object
    return _bare(get_args(kind)[0]) if get_origin(kind) is Annotated else kind
