"""The input of a run by the JSON Schema of its workflow: no references, patterns in linear time, nothing is fetched."""

from collections.abc import Iterator
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.workflows.misfits import Misfit, is_left_open
from domain.yaml_source import Path

PATTERN = RegexOptions(size_limit=1_000_000)
"""Bytes of a compiled pattern."""
_SCHEMAS = Draft202012Validator(
    {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    validate_formats=True,
    offline=True,
    pattern_options=PATTERN,
)
"""What a schema must be."""
STRUCTURAL = frozenset({"required", "additionalProperties"})
"""Errors that no value inside an object can mend."""


def schema_misfits(schema: JsonObject) -> Iterator[Misfit]:
    """What is wrong with a schema."""
    references = list(_references(schema))
    yield from references
    if references:
        return
    if schema.get("type") != "object":
        yield Misfit(("type",), "must be object: a run's input has named fields")
        return
    found = [Misfit(_path(error), _reason(error)) for error in _SCHEMAS.iter_errors(schema)]
    yield from found
    if not found:
        try:
            _compiled(schema)
        except ValidationError as error:
            yield Misfit(_path(error), _reason(error))
        except ValueError as error:
            yield Misfit((), str(error)[:300])


def input_misfits(schema: JsonObject, given: JsonObject) -> Iterator[Misfit]:
    """What of an input does not fit a schema; expressions in it may become whatever fits."""
    for error in _compiled(schema).iter_errors(given):
        path = _path(error)
        if not is_left_open(given, path, inside=error.kind.name not in STRUCTURAL):
            yield Misfit(path, _reason(error))


def check_input(schema: JsonObject, given: JsonObject) -> None:
    """Raise `Invalid` with the first field of a run's input that does not fit, and the reason without the value."""
    for error in _compiled(schema).iter_errors(given):
        raise Invalid(".".join(["input", *map(str, error.instance_path)])[:200], _reason(error))


def _compiled(schema: JsonObject) -> Draft202012Validator:
    return Draft202012Validator(schema, validate_formats=True, offline=True, mask="the value", pattern_options=PATTERN)


def _references(schema: JsonObject) -> Iterator[Misfit]:
    left: list[tuple[Path, Any]] = [((), schema)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            yield from (
                Misfit((*path, key), "is not taken in the schema of an input") for key in value if key[:1] == "$"
            )
            left += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            left += [((*path, index), inner) for index, inner in enumerate(value)]


def _path(error: ValidationError) -> Path:
    return tuple(error.instance_path)


def _reason(error: ValidationError) -> str:
    return str(error.message)[:300]
