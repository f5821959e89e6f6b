"""What a run puts in the place of `${…}`: JMESPath, bounded in steps and in the size of what it makes.

An expression sees `input`, `nodes.<name>`, `run`, and for a node with items `item` and `index` (docs:
workflow-definitions.md#expressions). A text that is not `${…}` as a whole is itself.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any, NamedTuple

from jmespath.exceptions import ArityError, JMESPathTypeError
from jmespath.visitor import TreeInterpreter

from domain.clean_text import UNSTORABLE, clean_text
from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep
from domain.workflows.joins import NodeState
from domain.workflows.references import Tree, expression_in, parsed

MOST_VISITS = 10_000
"""Steps of an evaluation: some 20 ms, and less than a second where each of them is about a long list."""
PARTS_OF_A_STEP = 100
"""A list or an object that is made, or handed to a function, takes a step more for so many parts."""
CHARACTERS_OF_A_STEP = 1_000
"""The same of a text that is handed to a function."""
LARGEST_VALUE = 64 * 1024
"""Bytes as JSON of what an expression gives, and of each value that it makes on the way."""
LARGEST_OUTPUTS = 4 * 1024 * 1024
"""Bytes as JSON of the outputs of a node's items together: whoever loads more gives `RefusedOutput`."""

Facts = Mapping[str, Any]
"""What an expression sees, by `references.ROOTS`."""


@dataclass(frozen=True, slots=True)
class RefusedOutput:
    """In the place of an output that could not be kept: an expression that reads it fails with the reason."""

    reason: str


class NodeFacts(NamedTuple):
    """What expressions may read of a node: `nodes.<name>.state`, `.output`, `.outputs`, `.error`."""

    state: NodeState
    output: Any = None
    """A JSON value or `RefusedOutput`; null for a node that has items, and for one that did not succeed."""
    outputs: Any = None
    """Of a node that has items: a list in their order, null for each that did not succeed, or `RefusedOutput`."""
    error: Mapping[str, str] | None = None
    """`code` and `reason` of a failure."""


def facts_of(given: Mapping[str, Any], nodes: Mapping[str, NodeFacts], run: Mapping[str, Any]) -> Facts:
    """What expressions see: the run's input, the nodes that they read, and `references.OF_RUN` of it."""
    return {"input": given, "nodes": {name: facts._asdict() for name, facts in nodes.items()}, "run": run}


def kind_of(value: object) -> str:
    """What a JSON value is, in JSON's words."""
    words = {bool: "a boolean", str: "a text", list: "a list", dict: "an object", type(None): "null"}
    return words.get(type(value), "a number")


def evaluate(place: str, value: Any, facts: Facts, *, most: int = LARGEST_PAYLOAD) -> Any:  # noqa: ANN401 - JSON
    """The JSON value with each expression in it replaced by what it gives; raises `Invalid` with the place and why.

    All of its expressions share the bound on steps; what comes out has `most` bytes at most.
    """
    interpreter = _Bounded()
    made = _evaluated(place, value, facts, interpreter)
    try:
        interpreter.size(made, most=most)
    except _Stopped as stopped:
        raise Invalid(place, stopped.reason) from None
    if nests_too_deep(made):
        raise Invalid(place, f"nests more than {MOST_LEVELS} levels deep")
    return made


def _evaluated(place: str, value: Any, facts: Facts, interpreter: "_Bounded") -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        return {name: _evaluated(f"{place}.{name}", one, facts, interpreter) for name, one in value.items()}
    if isinstance(value, list):
        return [_evaluated(f"{place}.{index}", one, facts, interpreter) for index, one in enumerate(value)]
    expression = expression_in(value)
    if expression is None:
        return value
    try:
        found = interpreter.visit(parsed(expression), facts)
        interpreter.size(found, most=LARGEST_VALUE)
    except _Stopped as stopped:
        raise Invalid(place, stopped.reason) from None
    except ArityError as error:
        raise Invalid(place, f"{error.function_name}() has a wrong number of arguments") from None
    except JMESPathTypeError as error:
        takes = " or ".join(error.expected_types)
        raise Invalid(place, f"{error.function_name}() takes {takes}, and gets {error.actual_type}") from None
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise Invalid(place, f"cannot be evaluated: {type(error).__name__}") from None
    return found


class _Stopped(Exception):
    """An evaluation that takes or makes too much, or reads what is not there."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_MAKE = frozenset(
    {
        "filter_projection",
        "flatten",
        "function_expression",
        "multi_select_dict",
        "multi_select_list",
        "projection",
        "slice",
        "value_projection",
    }
)
"""The parts of an expression that make a value, and do not only find it."""


def _steps_of(value: object) -> int:
    """What is done with a value takes so many steps more than with a small one."""
    if isinstance(value, list | Mapping):
        return len(value) // PARTS_OF_A_STEP
    return len(value) // CHARACTERS_OF_A_STEP if isinstance(value, str) else 0


class _Bounded(TreeInterpreter):  # type: ignore[misc] # the package has no types
    """JMESPath's own interpreter, bounded in steps and in the size of each value that it makes."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MOST_VISITS
        self._sizes: dict[int, tuple[object, int]] = {}
        """By id: lists and mappings that were measured, kept so that no other takes the id."""

    def visit(self, node: Tree, value: Any) -> Any:  # noqa: ANN401 - JSON
        self._take(1)
        found = value if isinstance(value, RefusedOutput) else super().visit(node, value)
        if isinstance(found, RefusedOutput):
            raise _Stopped(found.reason)
        if node["type"] in _MAKE:
            self.size(found, most=LARGEST_VALUE)
        return found

    def _take(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _Stopped(f"takes more than {MOST_VISITS} steps")

    def visit_function_expression(self, node: Tree, value: Any) -> Any:  # noqa: ANN401 - JSON
        """The two functions that make more of their arguments than these are have bounds of their own."""
        name, arguments = node["value"], [self.visit(child, value) for child in node["children"]]
        self._take(sum(_steps_of(one) for one in arguments))
        if name == "join" and isinstance(arguments[0], str) and isinstance(arguments[1], list):
            self._bounded(len(arguments[0]) * len(arguments[1]), LARGEST_VALUE)
        elif name == "to_string":
            self.size(arguments[0], most=LARGEST_VALUE)
        return self._functions.call_function(name, arguments)

    def size(self, value: object, *, most: int) -> int:
        """Bytes of a value as JSON; raises `_Stopped` for more than `most`, and for what is no JSON.

        Texts and numbers are measured as PostgreSQL writes them: it refuses a row by that measure.
        """
        if isinstance(value, str):
            if clean_text(value) != value:
                raise _Stopped(UNSTORABLE)
            return self._bounded(len(json.dumps(value, ensure_ascii=False).encode()), most)
        if value is None or isinstance(value, bool | int):
            return len(str(value)) if isinstance(value, bool) or value is None else value.bit_length() // 3 + 2
        if isinstance(value, float):
            if not isfinite(value):
                raise _Stopped("gives a number that JSON has no word for")
            return len(f"{Decimal(repr(value)):f}")
        if isinstance(value, RefusedOutput):
            raise _Stopped(value.reason)
        known = self._sizes.get(id(value))
        if known is None:
            known = self._sizes[id(value)] = value, self._measured(value, most)
        return self._bounded(known[1], most)

    def _measured(self, value: object, most: int) -> int:
        if isinstance(value, Mapping):
            parts: Iterable[object] = (part for pair in value.items() for part in pair)
        elif isinstance(value, list):
            parts = value
        else:
            raise _Stopped(f"gives a {type(value).__name__}, which is no JSON")
        self._take(_steps_of(value))
        total = 2
        for part in parts:
            total = self._bounded(total + 1 + self.size(part, most=most), most)
        return total

    @staticmethod
    def _bounded(size: int, most: int) -> int:
        if size > most:
            raise _Stopped(f"makes a value of more than {most} bytes")
        return size
