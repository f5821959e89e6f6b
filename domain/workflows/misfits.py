"""What does not fit where, in a document whose expressions are not evaluated yet."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from domain.documents.faults import Fault
from domain.documents.paths import Path
from domain.jobs.contract import OF_FIELD, OLDEST_VERSION, reason_of
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.payloads.other_names import rename
from domain.payloads.payload import Payload
from domain.workflows.references import expression_in, texts_in

STRUCTURAL = frozenset({"missing", "extra_forbidden"})
"""Errors that no value inside an object can mend."""


def is_left_open(document: object, path: Path, *, inside: bool) -> bool:
    """Whether an error at a path may vanish when expressions are evaluated.

    It may where an expression is on the path; and where one is inside the value, if the error is about what is there.
    """
    value = document
    for part in path:
        if _is_open(value):
            return True
        value = _inside(value, part)
    return inside and any(_is_open(text) for _, text in texts_in(value))


def _is_open(value: object) -> bool:
    """Whether it is an expression, or a text with one inside it, which is a fault of another kind."""
    return isinstance(value, str) and "${" in value


def _inside(value: Any, part: str | int) -> Any:  # noqa: ANN401 - JSON
    """The part of a value; the value itself where there is none, as of the tags that pydantic puts into a path."""
    try:
        return value if isinstance(value, str) else value[part]
    except (KeyError, IndexError, TypeError):
        return value


def misfits_of(error: ValidationError, document: object = None) -> Iterator[Fault]:
    """Pydantic's complaints, without those that expressions in the document may mend."""
    for problem in error.errors(include_url=False, include_input=False):
        path: Path = tuple(part for part in problem["loc"] if part != "[key]")
        if problem["type"] == OF_FIELD:
            path = (*path, *str(problem["ctx"]["field"]).split("."))
        if not is_left_open(document, path, inside=problem["type"] not in STRUCTURAL):
            yield Fault(path, reason_of(problem))


def payload_misfits(payload_type: type[Payload], version: int | None, given: JsonObject) -> Iterator[Fault]:
    """What of a `with` does not fit the payload of its job type; expressions in it may become whatever fits."""
    try:
        model, document = _as_checked(payload_type, payload_type.upcast(given, version or OLDEST_VERSION))
    except Invalid as refused:
        field = tuple(refused.field.split("."))
        path = field[1:] if field[0] == "payload" else ()
        yield Fault(path, refused.reason.removeprefix(f"{refused.field}: "))
        return
    try:
        model.model_validate_json(json.dumps(document), strict=True)
    except ValidationError as error:
        yield from misfits_of(error, document)


def _as_checked(payload_type: type[Payload], document: JsonObject) -> tuple[type[BaseModel], JsonObject]:
    """The class that judges a document, and the document as that class takes it; raises `Invalid`."""
    words = payload_type.declaration.words
    if words is not None and words.field not in document:
        return words.model, document
    return payload_type, rename(payload_type.other_names, _with_ids(payload_type, document)).stand_in


def _with_ids(payload_type: type[Payload], document: JsonObject) -> JsonObject:
    """The document with an id for each expression under a name that is looked up by a row's id."""
    found = dict(document)
    for name in (other.name for names in payload_type.other_names.values() for other in names if other.look_up):
        if expression_in(found.get(name)) is not None:
            found[name] = str(UUID(int=0))
    return found
