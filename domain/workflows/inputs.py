"""The input of a run by the JSON Schema of its workflow: no references, patterns in linear time, nothing is fetched."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError, ValidationErrorKind

from domain.documents.faults import Fault
from domain.documents.paths import Path, values_in
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.workflows.misfits import is_left_open
from domain.workflows.schema_bounds import LARGEST_PATTERN, inner_schemas, large_numbers, size_misfits, work_misfits

PATTERN = RegexOptions(size_limit=LARGEST_PATTERN)
_SCHEMAS = Draft202012Validator(
    {"$ref": "https://json-schema.org/draft/2020-12/schema"},
    validate_formats=True,
    offline=True,
    pattern_options=PATTERN,
)
"""What a schema must be."""
STRUCTURAL = frozenset({"required", "additionalProperties"})
"""Errors that no value inside an object can mend."""
_OF_FIELDS = ("properties", "patternProperties", "additionalProperties")
_CHOICES = ("anyOf", "oneOf")


def schema_misfits(schema: JsonObject) -> Iterator[Fault]:
    """What is wrong with a schema."""
    for look in (size_misfits, _references, _shape_misfits, work_misfits, _pattern_misfits):
        found = list(look(schema))
        yield from found
        if found:
            return


class InputCheck:
    """What tells whether an input fits a schema."""

    def __init__(self, schema: JsonObject) -> None:
        """Take a schema without misfits."""
        self._schema, self._whole = schema, _compiled(schema)

    @cached_property
    def _fields(self) -> Draft202012Validator:
        return _compiled({keyword: self._schema[keyword] for keyword in _OF_FIELDS if keyword in self._schema})

    def misfits(self, given: JsonObject) -> Iterator[Fault]:
        """The first misfit of each field, and of the whole; expressions in it may become whatever fits."""
        found = list(large_numbers(given))
        if not found:
            parts = [(self._fields, {name: value}) for name, value in given.items()]
            errors = [(part, _first(check, part)) for check, part in (*parts, (self._whole, given))]
            found = [
                Fault(_path(error), _reason(error))
                for part, error in errors
                if error is not None and not is_left_open(part, _path(error), inside=error.kind.name not in STRUCTURAL)
            ]
        yield from {misfit.path: misfit for misfit in found}.values()

    def check(self, given: JsonObject) -> None:
        """Raise `Invalid` with the first field of an input that does not fit, and the reason without the value."""
        for misfit in large_numbers(given):
            raise Invalid(_field(misfit.path), misfit.reason)
        error = _first(self._whole, given)
        if error is not None:
            raise Invalid(_field(_path(error)), _reason(error))


def _first(check: Draft202012Validator, given: JsonObject) -> ValidationError | None:
    """The first error alone: a list of all may have as many as the input has values times the schema."""
    try:
        check.validate(given)
    except ValidationError as error:
        return error
    return None


def _compiled(schema: JsonObject) -> Draft202012Validator:
    return Draft202012Validator(
        _without_choices(schema), validate_formats=True, offline=True, mask="the value", pattern_options=PATTERN
    )


def _without_choices(schema: Any) -> Any:  # noqa: ANN401 - JSON
    """The same schema with each `anyOf` and `oneOf` negated twice: its own error has the errors of all its schemas."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for (keyword, *below), inner in inner_schemas(schema):
        plain = _without_choices(inner)
        if not below:
            made[keyword] = plain
        else:
            if made[keyword] is schema[keyword]:
                made[keyword] = schema[keyword].copy()
            made[keyword][below[0]] = plain
    choices = [{"not": {"not": {keyword: made.pop(keyword)}}} for keyword in _CHOICES if keyword in made]
    return {**made, "allOf": [*made.get("allOf", ()), *choices]} if choices else made


def _shape_misfits(schema: JsonObject) -> Iterator[Fault]:
    if schema.get("type") != "object":
        yield Fault(("type",), "must be object: a run's input has named fields")
    else:
        yield from (Fault(_path(error), _reason(error)) for error in _SCHEMAS.iter_errors(schema))


def _pattern_misfits(schema: JsonObject) -> Iterator[Fault]:
    try:
        Draft202012Validator(schema, validate_formats=True, offline=True, pattern_options=PATTERN)
    except ValidationError as error:
        size = f"{LARGEST_PATTERN} bytes when compiled"
        yield Fault(_path(error), f"is no pattern without look-around and back references, and of at most {size}")
    except ValueError as error:
        yield Fault((), str(error)[:300])


def _references(schema: JsonObject) -> Iterator[Fault]:
    for path, value in values_in(schema):
        if isinstance(value, dict):
            yield from (
                Fault((*path, key), "is not taken in the schema of an input") for key in value if key[:1] == "$"
            )


def _field(path: Path) -> str:
    return ".".join(["input", *map(str, path)])[:200]


def _path(error: ValidationError) -> Path:
    return tuple(error.instance_path)


def _reason(error: ValidationError) -> str:
    if isinstance(error.kind, ValidationErrorKind.Not):
        negated = error.kind.schema.get("not") if isinstance(error.kind.schema, dict) else None
        if isinstance(negated, dict) and [*negated] == ["anyOf"]:
            return "the value fits none of the schemas in anyOf"
        if isinstance(negated, dict) and [*negated] == ["oneOf"]:
            return "the value does not fit exactly one of the schemas in oneOf"
    return str(error.message)[:300]
