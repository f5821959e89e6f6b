"""The published shape of a payload class: what SQL checks where no class does (storage/functions/payloads.sql)."""

from collections.abc import Iterable, Mapping
from typing import Any

from domain.jobs.job import JsonObject
from domain.payloads.other_names import IN_SCHEMA

JSON_TYPES = {"integer": "number"}
"""PostgreSQL's names of JSON types, where JSON Schema has others."""

LARGEST_DIGITS = 2**64 - 1
DIGITS = [
    {"type": "integer", "minimum": 0, "maximum": LARGEST_DIGITS},
    {"type": "string", "pattern": "^[0-9]{1,20}$"},
]
"""The schema of a number of 64 bits that may come as text."""

NO_DEFINITIONS: Mapping[str, Any] = {}


def shape_of(schema: Mapping[str, Any]) -> JsonObject:
    """The shape of a payload by its JSON Schema; of a schema without fields, one that takes everything.

    A field has its JSON types, whether it is required, its default, and which spelling of it is stored. What stands
    deeper is checked by the worker. `others` says what to give in the place of another name, which SQL does not know.
    """
    definitions = schema.get("$defs", NO_DEFINITIONS)
    required = schema.get("required", ())
    fields: Mapping[str, Mapping[str, Any]] = schema.get("properties", NO_DEFINITIONS)
    return {
        "closed": schema.get("additionalProperties") is False,
        "fields": {name: _field(given, definitions, required=name in required) for name, given in fields.items()},
        "others": _others(fields),
    }


def _others(fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
    found: dict[str, list[str]] = {}
    for name, given in fields.items():
        for other in given.get(IN_SCHEMA, ()):
            found.setdefault(other, []).append(name)
    return {other: " and ".join(names) for other, names in found.items()}


def _field(given: Mapping[str, Any], definitions: Mapping[str, Any], *, required: bool) -> JsonObject:
    alternatives = [_resolved(one, definitions) for one in given.get("anyOf", (given,))]
    field: JsonObject = {}
    if types := _types(alternatives):
        field["types"] = types
    if any(one.get("format") == "uuid" for one in alternatives):
        field["spelling"] = "uuid"
    elif any(one.get("format") == "date-time" for one in alternatives):
        field["spelling"] = "instant"
    elif all(one in alternatives for one in DIGITS):
        field["spelling"] = "number"
    if required:
        field["required"] = True
    if "default" in given:
        field["default"] = given["default"]
    return field


def _types(alternatives: Iterable[Mapping[str, Any]]) -> list[str]:
    """PostgreSQL's names of the JSON types that are taken; empty for any."""
    found: set[str] = set()
    for one in alternatives:
        if "type" not in one:
            return []
        found.add(JSON_TYPES.get(one["type"], one["type"]))
    return sorted(found)


def _resolved(given: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in given:
        return given
    return _resolved(definitions.get(given["$ref"].rpartition("/")[2], {}), definitions)
