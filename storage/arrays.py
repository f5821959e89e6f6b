"""PostgreSQL's array literals, made by hand for statements over many jobs: a driver's care per element shows there."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from uuid import UUID

from domain.job import State

Element = UUID | str | int | bool | datetime | dict[str, Any] | None


def array(elements: Iterable[Element]) -> str:
    """The literal, to be cast to its type in the statement; a dict becomes JSON, None becomes NULL."""
    listed = list(elements)
    kinds = set(map(type, listed))
    if len(kinds) == 1:
        return f"{{{','.join(map(LITERALS[kinds.pop()], listed))}}}"
    return f"{{{','.join([LITERALS[type(element)](element) for element in listed])}}}"


def column(elements: Iterable[Element], absent: Element = None) -> str:
    """One of several arrays for the same `unnest`, which fills a shorter one up with NULL.

    Where all its elements are `absent` it is empty; the statement must take NULL for that then.
    """
    listed = list(elements)
    return "{}" if listed.count(absent) == len(listed) else array(listed)


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
    State: str,
    dict: _document,
    datetime: datetime.isoformat,
}
"""How each type is written; by exact type, for one look into a table is all that an element may cost."""
