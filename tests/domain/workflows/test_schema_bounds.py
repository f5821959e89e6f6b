"""A schema of an input is refused if its check could take long, by what can be counted in it; others are not."""

from typing import Any

import pytest

from domain.jobs.failures import Invalid
from domain.workflows.inputs import InputCheck, schema_misfits
from domain.workflows.schema_bounds import MOST_PATTERNS, MOST_STEPS, MOST_VALUES

MANY = MOST_STEPS + 1
LONG = {"pattern": "[ab]*a[ab]{50}c"}


def nested(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        inner = {"allOf": [inner], "unevaluatedProperties": False}
    return inner


def objects(count: int, inner: object) -> dict[str, Any]:
    return {f"f{number}": inner for number in range(count)}


BOMBS: dict[str, tuple[dict[str, Any], str]] = {
    "each level doubles": (nested(19, {}), "unevaluatedProperties"),
    "unevaluated items": ({"unevaluatedItems": False}, "unevaluatedItems"),
    "references double": ({"$ref": "#/$defs/a"}, "$ref"),
    "a reference that is found when it runs": ({"$dynamicRef": "#a"}, "$dynamicRef"),
    "a keyword of an older draft": ({"dependencies": {"a": {"items": {"allOf": [{}] * MANY}}}}, "dependencies"),
    "many checks of each item": ({"items": {"allOf": [{"minimum": 0}] * MANY}}, "items"),
    "many of which one must fit": ({"items": {"anyOf": [{}] * MANY}}, "items"),
    "many of which none may": ({"items": {"not": {"oneOf": [{}] * MANY}}}, "not"),
    "many conditions": ({"items": {"allOf": [{"if": {"minimum": 3}, "then": False}] * MANY}}, "items"),
    "many checks by a field": ({"items": {"dependentSchemas": objects(MANY, {})}}, "items"),
    "many needed fields": ({"items": {"dependentRequired": objects(MANY, [])}}, "items"),
    "many lists in a list": ({"allOf": [{"contains": {"minimum": 3}}] * MANY}, "l"),
    "many kinds of field": ({"patternProperties": {f"^{n}": {} for n in range(4)}}, "l"),
    "many checks of each field": ({"additionalProperties": {"allOf": [{}] * MANY}}, "additionalProperties"),
    "many checks of each name": ({"propertyNames": {"allOf": [{}] * MANY}}, "propertyNames"),
    "many numbers": ({"items": {"enum": ["a", *range(MANY)]}}, "items"),
    "fractions": ({"items": {"enum": [0.5, 1.5, 2.5, 3.5, 4.5]}}, "items"),
    "many values": ({"items": {"const": objects(MANY, None)}}, "items"),
    "one text, many patterns": ({"allOf": [LONG] * 4}, "l"),
    "one list, looked through again and again": ({"allOf": [{"uniqueItems": True}] * MANY}, "l"),
    "a large pattern": ({"pattern": "[ab]*a[ab]{500}c"}, "pattern"),
    "many patterns to compile": ({"properties": objects(MOST_PATTERNS + 1, {"pattern": "^a"})}, ""),
    "many values to compile": ({"enum": list(range(MOST_VALUES))}, ""),
    "a large number": ({"minimum": 10**300}, "minimum"),
    "bounds that are fractions": ({"items": {"allOf": [{"minimum": 0.5}] * 8}}, "items"),
    "a fraction that divides": ({"multipleOf": 0.01}, "multipleOf"),
}
"""What is refused, and the last part of the path to it."""


@pytest.mark.parametrize("kind", BOMBS)
def test_a_schema_whose_check_could_take_long_is_refused(kind: str) -> None:
    bomb, last = BOMBS[kind]
    schema = {"type": "object", "properties": {"l": bomb}}
    found = list(schema_misfits(schema))
    assert {str(misfit.path[-1]) if misfit.path else "" for misfit in found} == {last}


PERSON = {
    "type": "object",
    "required": ["name", "mail"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 200, "description": "As it is written."},
        "mail": {"type": "string", "format": "email", "pattern": "@example\\.com$"},
        "born": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "country": {"enum": [f"{a}{b}" for a in "ABCDEFGHIJKLMNOP" for b in "ABCDEFGHIJKLMNOP"]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "state": {"enum": ["new", 1, None]},
        **objects(100, {"type": ["string", "null"], "maxLength": 20}),
    },
    "additionalProperties": False,
}
HONEST: dict[str, dict[str, Any]] = {
    "lists of people": {"properties": {f"list{n}": {"items": PERSON, "uniqueItems": True} for n in range(6)}},
    "a large form": {"properties": objects(400, {"type": "string", "format": "email", "examples": ["a", "b"]})},
    "choices": {"properties": {"a": {"oneOf": [PERSON, {"items": PERSON}, {"type": "null"}]}}},
    "conditions": {"allOf": [{"if": {"required": [n]}, "then": {"required": ["b"]}} for n in "acdefgh"]},
    "lists in lists": {"properties": {"a": {"items": {"items": {"items": {"items": {"type": "integer"}}}}}}},
    "names as keywords": {"properties": {"properties": {"enum": [{"items": 1}]}, "pattern": {}, "allOf": {}}},
}


@pytest.mark.parametrize("kind", HONEST)
def test_an_honest_schema_is_taken(kind: str) -> None:
    schema = {"type": "object", **HONEST[kind]}
    assert list(schema_misfits(schema)) == []
    InputCheck(schema).check({})


CHOICE = {"anyOf": [{"items": {"minimum": 3}}, {"type": "string"}]}
ODD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"properties": {"a": CHOICE}}, {"a": [1] * 30_000}, "input.a"),
    ({"properties": {"a": {"oneOf": [CHOICE, CHOICE]}}}, {"a": "x"}, "input.a"),
    ({"properties": {"a": {"allOf": [CHOICE, {"not": CHOICE}]}}}, {"a": "x"}, "input.a"),
    ({"properties": {"a": {"items": CHOICE}}}, {"a": ["x", [5], [1]]}, "input.a.2"),
    ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, 2**53]}, "input.a.1"),
    ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "input"),
    ({"additionalProperties": {"anyOf": [{"const": 1}]}}, {"a": 1, "b": 2}, "input.b"),
]


@pytest.mark.parametrize(("schema", "given", "field"), ODD)
def test_an_input_that_does_not_fit_is_refused_with_its_field(
    schema: dict[str, Any], given: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        InputCheck({"type": "object", **schema}).check(given)
    assert refused.value.field == field


@pytest.mark.parametrize("value", ["x", [], [3], [3, "y"]])
def test_a_choice_that_fits_is_taken(value: object) -> None:
    InputCheck({"type": "object", "properties": {"a": {**CHOICE, "allOf": [CHOICE]}}}).check({"a": value})
