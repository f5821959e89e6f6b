"""Writes the golden payloads that are missing: `python -m tools.golden` (`make golden`).

A golden payload is the payload of one job type and version as the ledger stores it. The tests read each of them for
ever, so that the jobs of an old release are understood by a new one. The values are made up from the fields' types and
are the same each time. An existing file is never changed: a person reads the new ones and commits them.
"""

import json
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from domain.jobs.contract import first_problem
from domain.jobs.job import JsonObject
from domain.payloads import payload_types
from domain.payloads.payload import Payload

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)

BY_TYPE: Mapping[type, Callable[[str], object]] = {
    bool: lambda _: True,
    int: lambda _: 1,
    float: lambda _: 1.5,
    Decimal: lambda _: Decimal("1.5"),
    str: lambda name: name.replace("_", "-"),
    UUID: lambda name: UUID(f"0190a1b2-c3d4-7e5f-8a6b-{zlib.crc32(name.encode()):012x}"),
    datetime: lambda _: NOON,
    date: lambda _: NOON.date(),
    time: lambda _: NOON.timetz(),
    timedelta: lambda _: timedelta(minutes=1),
}
"""A value of each plain type, given the field's name."""


def write_missing(folder: Path) -> list[Path]:
    """Write the golden payload of each class of domain/payloads whose newest version has none; returns the new files.

    Raises `ValueError` with the job type and the field when no value can be made up.
    """
    written = []
    for payload in payload_types:
        path = golden_file(folder, payload)
        if payload.__module__.startswith("domain.") and not path.exists():
            path.write_text(json.dumps(made_up(payload), indent=2) + "\n", encoding="utf-8")
            written.append(path)
    return written


def golden_file(folder: Path, payload: type[Payload], version: int | None = None) -> Path:
    """Where the golden payload of a class stands; by default of its newest version."""
    declared = payload.declaration
    return folder / f"{declared.job_type}.v{version or declared.version}.json"


def made_up(payload: type[Payload]) -> JsonObject:
    """A stored payload with a value for every field; raises `ValueError` with job type, field and remedy."""
    try:
        return payload.model_validate(_of_model(payload)).document()
    except ValidationError as error:
        problem = first_problem(error).reason
    except LookupError as error:
        problem = f"{error.args[0]}: no value can be made up for its type"
    raise ValueError(f"{payload.declaration.job_type}: {problem}; give the field Field(examples=[…])")


def _of_model(model: type[BaseModel]) -> JsonObject:
    return {name: _of_field(name, field) for name, field in model.model_fields.items()}


def _of_field(name: str, field: FieldInfo) -> object:
    return field.examples[0] if field.examples else _of_type(name, field.annotation)


def _of_type(name: str, kind: Any) -> object:  # noqa: ANN401 - any annotation
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in {Annotated, Union, UnionType}:
        return _of_type(name, next(one for one in arguments if one is not NoneType))
    if origin is not None:
        return _of_container(name, origin, arguments)
    return _of_class(name, kind)


def _of_class(name: str, kind: type) -> object:
    if issubclass(kind, Enum):
        return next(iter(kind))
    if issubclass(kind, BaseModel):
        return _of_model(kind)
    if kind not in BY_TYPE:
        raise LookupError(name)
    return BY_TYPE[kind](name)


def _of_container(name: str, origin: type, arguments: tuple[Any, ...]) -> object:
    if issubclass(origin, Mapping):
        return {_of_type(name, arguments[0]): _of_type(name, arguments[1])}
    if origin is tuple and Ellipsis not in arguments:
        return tuple(_of_type(name, one) for one in arguments)
    if issubclass(origin, Sequence | set | frozenset):
        return [_of_type(name, arguments[0])]
    raise LookupError(name)


if __name__ == "__main__":
    for path in write_missing(FOLDER):
        sys.stdout.write(f"written, to be read by a person: tests/golden/{path.name}\n")
