"""What a schema of an input may have, so that the check of an input holds a process for a tenth of a second at most.

The checker holds the interpreter's lock. All of its work that grows faster than the product of this bound and the
input's size is left out: references, what other keywords have left unevaluated, numbers beyond 2^53.
"""

from collections.abc import Iterator
from typing import Any

from domain.documents.faults import Fault
from domain.documents.paths import Path, values_in
from domain.jobs.job import JsonObject

MOST_VALUES = 5_000
"""Of a schema: it is compiled for each input, in some 10 ms."""
MOST_PATTERNS = 100
"""Of a schema, each with at most `LARGEST_PATTERN`: it is compiled in some 0.2 ms."""
LARGEST_PATTERN = 10_000
"""Bytes of a compiled pattern: it takes 40 ms for 64 KB of text at most."""
MOST_STEPS = 300
"""For each value of an input, of some 10 ns. At most 32,000 values have room in the 64 KB of an input."""
NUMBERS = range(-(2**53) + 1, 2**53)
"""Whole numbers that every reader of JSON keeps (RFC 7493). Beyond them many have one hash, so that `uniqueItems` takes
minutes, and larger ones are compared digit by digit."""

SCHEMA = frozenset({"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames"})
SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords with a schema, with a list of schemas, and with schemas by name."""
SAYS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
"""Keywords for people."""
_NUMBERS = frozenset({"multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"})
_TEXTS = frozenset({"maxLength", "minLength", "pattern", "format"})
_LISTS = frozenset({"maxItems", "minItems", "uniqueItems", "maxContains", "minContains"})
_OBJECTS = frozenset({"maxProperties", "minProperties", "required", "dependentRequired"})
CHECKS = frozenset({"type", "enum", "const"}) | _NUMBERS | _TEXTS | _LISTS | _OBJECTS
PER_LETTER = {"pattern": 100, "format": 10, "uniqueItems": 10}
"""Steps of keywords that read all letters of a value, or all values in it."""
_IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})
_ONCE = frozenset({"properties", "prefixItems"})
"""Each of their schemas is for one of the values in a value, and of the others for many."""
_WHOLE, _FRACTION, _BOUND, _MULTIPLE = 15, 75, 40, 50
"""Steps of a comparison with a whole number, with a fraction, with a bound that is a fraction, and of a division."""


def inner_schemas(schema: JsonObject) -> Iterator[tuple[Path, Any]]:
    """The schemas that stand in a schema that has the right shape, each with the path to it."""
    for keyword, value in schema.items():
        if keyword in SCHEMA:
            yield (keyword,), value
        elif keyword in SCHEMAS:
            yield from (((keyword, index), inner) for index, inner in enumerate(value))
        elif keyword in NAMED_SCHEMAS:
            yield from (((keyword, name), inner) for name, inner in value.items())


def large_numbers(document: object) -> Iterator[Fault]:
    """Whole numbers that no input and no schema of one may have."""
    for path, value in values_in(document):
        if isinstance(value, int) and value not in NUMBERS:
            yield Fault(path, "is beyond 2^53, where readers of JSON lose digits: write it as a text")


def size_misfits(schema: JsonObject) -> Iterator[Fault]:
    """What keeps a schema from being looked at any closer."""
    values = _values(schema)
    if values > MOST_VALUES:
        yield Fault((), f"has {values} values, {MOST_VALUES} at most")
    else:
        yield from large_numbers(schema)


def work_misfits(schema: JsonObject) -> Iterator[Fault]:
    """What of a schema that has the right shape is not taken, or takes too long."""
    patterns = 0
    left: list[tuple[Path, Any]] = [((), schema)]
    while left:
        path, found = left.pop()
        if isinstance(found, dict):
            for keyword in found.keys() - SCHEMA - SCHEMAS - NAMED_SCHEMAS - SAYS - CHECKS:
                yield Fault((*path, keyword), "is not taken in the schema of an input")
            if isinstance(found.get("multipleOf"), float):
                yield Fault((*path, "multipleOf"), "must be a whole number")
            patterns += ("pattern" in found) + len(found.get("patternProperties", ()))
            left += [((*path, *below), inner) for below, inner in inner_schemas(found)]
    if patterns > MOST_PATTERNS:
        yield Fault((), f"has {patterns} patterns, {MOST_PATTERNS} at most")
    slow: list[Fault] = []
    _steps(schema, (), slow, of_many=False)
    yield from slow


def _steps(schema: Any, path: Path, slow: list[Fault], *, of_many: bool) -> int:  # noqa: ANN401 - JSON
    """Steps for each value in a value that is checked, at most; appends the innermost schemas that take too many.

    A value has at most one name, so that of schemas for other names the largest counts. What a value takes beside the
    values in it counts only where a schema is for many values.
    """
    if not isinstance(schema, dict):
        return int(of_many)
    inner = dict.fromkeys((*SCHEMA, *SCHEMAS, *NAMED_SCHEMAS), 0)
    for below, value in inner_schemas(schema):
        keyword = str(below[0])
        steps = _steps(value, (*path, *below), slow, of_many=of_many or keyword not in _IN_PLACE | _ONCE)
        if keyword == "patternProperties":
            steps += PER_LETTER["pattern"]
        inner[keyword] = max(inner[keyword], steps) if keyword in _ONCE else inner[keyword] + steps
    fields = (
        max(inner["properties"], inner["additionalProperties"]) + inner["patternProperties"] + inner["propertyNames"]
    )
    items = max(inner["prefixItems"], inner["items"]) + inner["contains"]
    own = 1 + sum(_own_steps(keyword, value) for keyword, value in schema.items()) if of_many else 0
    steps = max(own, fields, items) + sum(inner[keyword] for keyword in _IN_PLACE)
    steps += sum(PER_LETTER.get(keyword, 0) for keyword in schema)
    if steps > MOST_STEPS:
        slow.append(Fault(path, f"takes {steps} steps for each value of an input, {MOST_STEPS} at most"))
        return 0
    return steps


def _own_steps(keyword: str, value: Any) -> int:  # noqa: ANN401 - JSON
    if keyword not in CHECKS:
        return int(keyword not in SAYS)
    if keyword == "multipleOf":
        return _MULTIPLE
    if keyword not in {"enum", "const"}:
        return _values(value, fraction=_BOUND)
    # Where all are texts, or all are whole numbers, one look-up finds a value.
    is_quick = keyword == "enum" and {type(one) for one in value} in ({int}, {str})
    return 1 if is_quick else _values(value, whole=_WHOLE, fraction=_FRACTION)


def _values(document: object, *, whole: int = 1, fraction: int = 1) -> int:
    """How many values there are in a document, with itself; numbers count as so many."""
    count, left = 0, [document]
    while left:
        value = left.pop()
        count += fraction if isinstance(value, float) else whole if type(value) is int else 1
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
    return count
