"""PostgreSQL's array literals, made by hand for statements over many jobs: a driver's care per element shows there."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from uuid import UUID

Element = UUID | str | int | bool | datetime | dict[str, Any] | None


def array(elements: Iterable[Element]) -> str:
    """The literal, to be cast to its type in the statement; a dict becomes JSON, None becomes NULL."""
    return f"{{{','.join([LITERALS[type(element)](element) for element in elements])}}}"


def column(elements: Iterable[Element]) -> str:
    """One of several arrays for the same `unnest`, which fills a shorter one up with NULL: all None, it is empty."""
    listed = list(elements)
    return "{}" if all(element is None for element in listed) else array(listed)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _document(document: dict[str, Any]) -> str:
    return _quoted(json.dumps(document)) if document else '"{}"'


LITERALS: Mapping[type, Callable[[Any], str]] = {
    NoneType: lambda _: "NULL",
    UUID: lambda name: f"{name.int:032x}",
    bool: str,
    int: str,
    str: _quoted,
    dict: _document,
    datetime: datetime.isoformat,
}
"""How each type is written; by exact type, for one look into a table is all that an element may cost."""
