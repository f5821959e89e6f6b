"""What SQL must know of a payload class to check and canonicalise a payload: its fields, in their order."""

from collections.abc import Mapping
from typing import Any

from domain.jobs.job import JsonObject
from domain.payloads.other_names import IN_SCHEMA

SCALARS = {"string", "integer", "number", "boolean", "array", "object"}
FORMATS = {"uuid": "uuid", "date": "date", "date-time": "datetime"}
DIGITS = [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]{1,20}$"}]
"""The schema of an integer that may come as text."""
BOUNDS = (
    ("least", ("minLength", "minimum")),
    ("most", ("maxLength", "maximum")),
)
"""By the name in a shape, the names in JSON Schema."""

NO_DEFINITIONS: Mapping[str, Any] = {}


def shape_of(schema: Mapping[str, Any]) -> JsonObject:
    """The shape of a payload by its JSON Schema; of a schema without fields, one that takes everything.

    It checks only the outermost fields; the worker checks the content of lists and objects.
    """
    definitions = schema.get("$defs", NO_DEFINITIONS)
    required = schema.get("required", ())
    fields = [
        _field(name, given, definitions, required=name in required)
        for name, given in schema.get("properties", NO_DEFINITIONS).items()
    ]
    return {"closed": schema.get("additionalProperties") is False, "fields": fields}


def _field(name: str, given: Mapping[str, Any], definitions: Mapping[str, Any], *, required: bool) -> JsonObject:
    field: JsonObject = {"name": name} | _value(given, definitions)
    if required:
        field["required"] = True
    if "default" in given:
        field["default"] = given["default"]
    if IN_SCHEMA in given:
        field["others"] = given[IN_SCHEMA]
    return field


def _value(given: Mapping[str, Any], definitions: Mapping[str, Any]) -> JsonObject:
    if "$ref" in given:
        return _value(definitions.get(given["$ref"].rpartition("/")[2], {}), definitions)
    if "anyOf" in given:
        alternatives = [one for one in given["anyOf"] if one.get("type") != "null"]
        if len(alternatives) == 1:
            kind = _value(alternatives[0], definitions)
        else:
            kind = {"kind": "digits" if alternatives == DIGITS else "any"}
        return kind | ({"nullable": True} if len(alternatives) < len(given["anyOf"]) else {})
    if "enum" in given or "const" in given:
        return {"kind": "enum", "values": given.get("enum", [given.get("const")])}
    kind = FORMATS.get(given.get("format", ""), given.get("type", "any"))
    field: JsonObject = {"kind": kind if kind in SCALARS or kind in FORMATS.values() else "any"}
    for bound, names in BOUNDS:
        for name in names:
            if name in given:
                field[bound] = given[name]
    return field
