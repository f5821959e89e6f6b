"""Forms that are made of an operation's parameters: their fields, and what was typed into them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import from_json

from domain.clean_text import clean_text
from domain.documents.faults import RefusedDocument
from domain.jobs.failures import Failure, Invalid
from gateway.console.shown import in_words, kind_of
from gateway.console.things import AnyOperation
from operations.operation import DOCUMENT, File

LONG = 300
"""Characters from which on a text gets several lines."""
WORDS = frozenset({"text", "html", "body", "content"})
"""Texts that nobody writes in one line."""

Input = Literal["text", "lines", "number", "choice", "document", "area", "time", "id"]


@dataclass(frozen=True, slots=True)
class Field:
    """An input of a form."""

    name: str
    label: str
    kind: Input
    is_required: bool
    words: str | None
    value: str = ""
    choices: Sequence[tuple[str, str]] = ()
    least: object = None
    most: object = None
    shortest: int | None = None
    longest: int | None = None
    default: str = ""
    trouble: str | None = None
    is_given: bool = False
    """Whether the page was opened for this very thing."""


def fields_of(operation: AnyOperation, typed: Mapping[str, str]) -> list[Field]:
    """The inputs of an operation's parameters, with what was typed."""
    return [
        _field(name, field, typed.get(name), is_argument=name in operation.positional, is_filter=not operation.events)
        for name, field in operation.parameters.model_fields.items()
    ]


def with_trouble(fields: Sequence[Field], failure: Failure) -> tuple[list[Field], str | None]:
    """The same inputs with the reason at the one that was refused; and the reason, where none of them is to blame."""
    said = failure.field if isinstance(failure, Invalid) else ""
    name = next(
        (one.name for one in fields if said == one.name or said.startswith((f"{one.name}.", f"{one.name}["))), None
    )
    reason = failure.reason.removeprefix(f"{said}: ") if said else failure.reason
    if isinstance(failure, RefusedDocument):
        reason = "; ".join(f"{fault.pointer or 'the document'}: {fault.reason}" for fault in failure.faults[:20])
        name = name or next((one.name for one in fields if one.name == DOCUMENT), None)
    if name is None:
        return list(fields), failure.reason if reason in failure.reason else reason
    return [replace(one, trouble=reason) if one.name == name else one for one in fields], None


def values_of(operation: AnyOperation, typed: Mapping[str, str]) -> dict[str, object]:
    """What was typed, as the parameters' model takes it; an empty input is not given. Raises `Invalid` by field."""
    return read_inputs(operation.parameters, typed)


def inputs_of(model: type[BaseModel], typed: Mapping[str, str], now: Mapping[str, str]) -> list[Field]:
    """The inputs of a document that is to be changed: an empty one leaves the field as it is, which is `now`."""
    made = [
        (_field(name, field, typed.get(name), is_argument=False, is_filter=True), now.get(name))
        for name, field in model.model_fields.items()
    ]
    return [
        replace(one, is_required=False, default="", value=typed.get(one.name, ""),
                words=" ".join(filter(None, (one.words, f"Now {said}." if said else "Not set now."))))
        for one, said in made
    ]  # fmt: skip


def read_inputs(model: type[BaseModel], typed: Mapping[str, str]) -> dict[str, object]:
    """What was typed, as a model takes it; an empty input is not given. Raises `Invalid` by field."""
    given: dict[str, object] = {}
    for name, field in model.model_fields.items():
        text = typed.get(name, "")
        if text.strip():
            given[name] = _value(name, field, text)
    return given


def _value(name: str, field: FieldInfo, text: str) -> object:
    kind, is_list = kind_of(field.annotation)
    if name == DOCUMENT and kind is object:
        return File("the form", clean_text(text).encode())
    if kind is dict or (is_list and not _is_plain(kind)) or not _is_plain(kind):
        try:
            value: object = from_json(text, allow_inf_nan=False)
            json.dumps(value, allow_nan=False)
        except ValueError as error:
            raise Invalid(name, f"is no JSON: {error}") from None
        return value
    if is_list:
        return [line.strip() for line in text.splitlines() if line.strip()]
    return text if kind is str else text.strip()


def _field(name: str, field: FieldInfo, typed: str | None, *, is_argument: bool, is_filter: bool) -> Field:
    kind, is_list = kind_of(field.annotation)
    bounds = _bounds(field)
    made = Field(
        name,
        in_words(name),
        _input(name, kind, bounds.get("longest"), is_list=is_list),
        field.is_required() or is_argument,
        field.description,
        typed or "",
        default=_said(None if field.is_required() else field.default),
        **bounds,
    )
    choices = _choices(kind)
    if choices and (is_filter or not is_list):
        if typed and typed not in dict(choices):
            choices = [*choices, (typed, typed.replace("\n", ", "))]
        return replace(made, kind="choice", choices=choices, value=made.default if typed is None else made.value)
    if choices:
        named = ", ".join(choice for choice, _ in choices)
        return replace(made, words=" ".join(filter(None, (made.words, f"Of these: {named}."))))
    return replace(made, is_given=is_argument and bool(typed) and not is_filter)


def _choices(kind: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - any type of a parameter
    """What can be chosen of a type that has few values, with the words for each."""
    if kind is bool:
        return [("true", "yes"), ("false", "no")]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [(str(one.value), in_words(str(one.value))) for one in kind]
    return [(str(one), in_words(str(one))) for one in get_args(kind)] if get_origin(kind) is Literal else []


def _input(name: str, kind: Any, longest: int | None, *, is_list: bool) -> Input:  # noqa: ANN401 - any type of a parameter
    if kind is dict or not _is_plain(kind) or (name == DOCUMENT and kind is object):
        return "document"
    if is_list:
        return "lines"
    by_kind: Mapping[object, Input] = {int: "number", UUID: "id", datetime: "time"}
    if kind in by_kind:
        return by_kind[kind]
    return "area" if name in WORDS or (longest is not None and longest > LONG) else "text"


def _is_plain(kind: Any) -> bool:  # noqa: ANN401 - as above
    """Whether a value is one text, as JSON or a person writes it."""
    return get_origin(kind) is Literal or (
        isinstance(kind, type) and kind is not object and not hasattr(kind, "model_fields")
    )


def _bounds(field: FieldInfo) -> dict[str, Any]:
    found: dict[str, Any] = {}
    inner = [
        one for kind in (field.annotation, *get_args(field.annotation)) for one in getattr(kind, "__metadata__", ())
    ]
    for one in (*field.metadata, *inner):
        match one:
            case Ge(ge=least):
                found["least"] = least
            case Gt(gt=below):
                found["least"] = below
            case Le(le=most):
                found["most"] = most
            case Lt(lt=above):
                found["most"] = above
            case MinLen(min_length=shortest):
                found["shortest"] = shortest
            case MaxLen(max_length=longest):
                found["longest"] = longest
    return found


def _said(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, bool):
        return "true" if default else "false"
    return str(default.value if isinstance(default, Enum) else default)
