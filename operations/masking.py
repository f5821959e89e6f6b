"""Takes values that belong to customers out of what an operator of the console is shown."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from domain.orgs.privacy.shapes import shape_of_values
from operations.pages import Page

Answer = TypeVar("Answer")
EACH = "*"
"""At the end of a path: each member of an object but the facts."""


def with_shapes(answer: Answer, paths: Iterable[str], facts: Container[str] = ()) -> Answer:
    """The same record, or page of records, with shapes at these paths: `payload`, `steps.result`.

    Of an event's `data`, the `facts` are shown as they are.
    """
    split = [tuple(path.split(".")) for path in paths]
    if isinstance(answer, Page):
        return cast("Answer", replace(answer, items=[_masked(one, split, facts) for one in answer.items]))
    return cast("Answer", _masked(answer, split, facts))


def _masked(value: object, paths: list[tuple[str, ...]], facts: Container[str]) -> Any:  # noqa: ANN401 - a record, or a part of one
    if () in paths:
        return shape_of_values(value)
    if (EACH,) in paths and isinstance(value, Mapping):
        return {name: one if name in facts else shape_of_values(one) for name, one in value.items()}
    match value:
        case BaseModel():
            return value.model_copy(
                update={name: _masked(getattr(value, name), rest, facts) for name, rest in _by_name(paths)}
            )
        case Mapping():
            return {
                **value,
                **{name: _masked(value[name], rest, facts) for name, rest in _by_name(paths) if name in value},
            }
        case list() | tuple():
            return [_masked(one, paths, facts) for one in value]
        case _:
            return value


def _by_name(paths: list[tuple[str, ...]]) -> Iterable[tuple[str, list[tuple[str, ...]]]]:
    for name in dict.fromkeys(path[0] for path in paths):
        yield name, [path[1:] for path in paths if path[0] == name]
