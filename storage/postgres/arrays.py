"""PostgreSQL's arrays, made by hand for statements over many jobs: a driver's care per element shows there."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any
from uuid import UUID

from psycopg.adapt import Dumper
from psycopg.pq import Format

from domain.jobs.job import State

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

Element = UUID | str | int | bool | datetime | dict[str, Any] | None


class Packed(bytes):
    """An array in PostgreSQL's binary format; the header names the element type."""


Array = str | Packed
"""An array as a parameter, to be cast to its type in the statement."""


class PackedDumper(Dumper):
    """Hands a packed array to PostgreSQL as it is; for psycopg's adapters."""

    format = Format.BINARY

    def dump(self, obj: Packed) -> Packed:
        """Nothing is left to do."""
        return obj


def array(elements: Iterable[Element]) -> Array:
    """The array; a dict becomes JSON, None becomes NULL. `TypeError` for anything else, and for a time without a zone.

    UUIDs alone and times alone are packed: text takes three times as long to write.
    """
    listed = list(elements)
    kinds = set(map(type, listed))
    if len(kinds) != 1:
        return f"{{{','.join([_writer(type(element))(element) for element in listed])}}}"
    kind = kinds.pop()
    if kind in PACKERS:
        element_type, size, pack = PACKERS[kind]
        return _packed(element_type, size, list(map(pack, listed)))
    return f"{{{','.join(map(_writer(kind), listed))}}}"


def column(elements: Iterable[Element], absent: Element = None) -> Array:
    """One of several arrays for the same `unnest`, which fills a shorter array up with NULL.

    If every element equals `absent`, sends an empty array; the statement must treat NULL as `absent`.
    """
    listed = list(elements)
    return "{}" if listed.count(absent) == len(listed) else array(listed)


def json_array(values: Iterable[object]) -> Array:
    """JSON values of any kind as `jsonb[]`; None becomes NULL."""
    return f"{{{','.join('NULL' if value is None else _quoted(json.dumps(value)) for value in values)}}}"


def _packed(element_type: int, size: int, elements: Sequence[bytes]) -> Packed:
    """An array of one dimension that begins at 1 and has no NULL: its head, and each element after its size."""
    head = (1, 0, element_type, len(elements), 1)
    each = size.to_bytes(4)
    return Packed(b"".join([number.to_bytes(4) for number in head]) + each + each.join(elements))


def _time(at: datetime) -> bytes:
    """Microseconds since PostgreSQL's epoch."""
    since = at - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds).to_bytes(8, signed=True)


def _moment(at: datetime) -> str:
    if at.utcoffset() is None:
        raise TypeError("a time has no zone")
    return at.isoformat()


def _writer(kind: type) -> Callable[[Any], str]:
    """How a type is written; one that is derived from another as that one: a handler's Counter is a dict."""
    if kind in LITERALS:
        return LITERALS[kind]
    for known, write in LITERALS.items():
        if issubclass(kind, known):
            return write
    raise TypeError(f"{kind.__name__} cannot be written")


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
    datetime: _moment,
}
"""How each type is written; by exact type first, for one look into a table is all that an element may cost."""

PACKERS: Mapping[type, tuple[int, int, Callable[[Any], bytes]]] = {
    UUID: (2950, 16, lambda name: name.int.to_bytes(16)),
    datetime: (1184, 8, _time),
}
"""What is packed where an array has nothing else: its number in `pg_type`, the same everywhere, its bytes, and how."""
