"""`${…}` as it is written: what is an expression, what it reads of a run by its syntax tree, what is wrong with it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple

from jmespath.exceptions import JMESPathError, ParseError
from jmespath.functions import Functions
from jmespath.parser import Parser

from domain.documents.paths import Path, values_in

LONGEST_EXPRESSION = 1_000
"""Characters."""
DEEPEST_EXPRESSION = 40
"""Levels of its syntax tree; each takes some frames of Python's stack."""
ROOTS = ("input", "nodes", "run", "item", "index")
OF_NODE = ("state", "output", "outputs", "error")
OF_RUN = ("id", "workflow", "version", "round", "created_at")

Tree = Mapping[str, Any]
"""A part of an expression, as JMESPath's parser writes it: `type`, `value`, `children`."""

_WHOLE = re.compile(r"\$\{(.*)\}", re.DOTALL)
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`((?:\\.|[^`\\])*)`""", re.DOTALL)
"""A raw text, a quoted name, or a literal, of which the group has the inside."""
_HOLE = re.compile(r"\$\{([^{}]*)\}")


def expression_in(value: object) -> str | None:
    """What is inside a value that is `${…}` as a whole; None for a literal."""
    whole = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return whole[1] if whole and "${" not in whole[1] else None


def joined(text: str) -> str | None:
    """How a text with `${` inside it is written instead; None for a text without."""
    if "${" not in text or expression_in(text) is not None:
        return None
    parts = _HOLE.split(text)
    arguments = [part if index % 2 else _quoted(part) for index, part in enumerate(parts) if part]
    return f"${{join('', [{', '.join(arguments)}])}}" if len(parts) > 1 else "${join('', ['…', …])}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def texts_in(value: object, path: Path = (), *, keys: bool = False) -> Iterator[tuple[Path, str]]:
    """Every text inside a JSON value, with its path, and every key if wanted; needs no stack."""
    for at, one in values_in(value, path):
        if isinstance(one, str):
            yield at, one
        elif keys and isinstance(one, dict):
            yield from ((at, name) for name in one)


@lru_cache(maxsize=4096)
def parsed(expression: str) -> Tree:
    """The syntax tree of an expression; raises `ValueError` with the reason."""
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"has {len(expression)} characters, {LONGEST_EXPRESSION} at most")
    _check_literals(expression)
    try:
        tree: Tree = Parser().parse(expression).parsed
    except ParseError as error:
        where = f" at character {error.lex_position + 1}" if error.token_type is not None else " at its end"
        raise ValueError(f"is no JMESPath{where}") from None
    except (JMESPathError, IndexError) as error:
        raise ValueError("is no JMESPath") from error
    except RecursionError:
        raise ValueError(f"nests more than {DEEPEST_EXPRESSION} levels deep") from None
    level: list[Tree] = [tree]
    for _ in range(DEEPEST_EXPRESSION):
        level = [part for outer in level for part in outer["children"] if isinstance(part, Mapping)]
    if level:
        raise ValueError(f"nests more than {DEEPEST_EXPRESSION} levels deep")
    return tree


def _check_literals(expression: str) -> None:
    """What is between backticks must be JSON: the package takes the rest for a text, and warns that it will not."""
    for found in _QUOTED.finditer(expression):
        if found[1] is not None:
            try:
                json.loads(found[1].replace("\\`", "`"))
            except ValueError:
                raise ValueError("has between backticks what is no JSON: a text is written as 'text'") from None


class Reference(NamedTuple):
    """What an expression reads of a node; without a field the node as a whole."""

    node: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expression reads, and what is wrong with it."""

    references: frozenset[Reference] = frozenset()
    fields: frozenset[str] = frozenset()
    """Of the run's input."""
    roots: frozenset[str] = frozenset()
    defects: tuple[str, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it gives the same in every run."""
        return not self.roots and not self.defects


class _At(Enum):
    """Where in the facts a part of an expression is evaluated."""

    ROOT = auto()
    NODES = auto()
    INPUT = auto()
    RUN = auto()
    VALUE = auto()
    """Inside a value: what its names mean is known when it is evaluated."""


NO_VALUE = "names no value: a node is nodes.<name>, and neither @ nor * may stand for all nodes"
_STEPS = frozenset({"subexpression", "pipe", "index_expression"})
_PROJECTIONS = frozenset({"projection", "value_projection", "filter_projection"})
_Where = _At | str
"""A text: at the facts of the node of this name."""


@lru_cache(maxsize=4096)
def read(expression: str) -> Reading:
    """What an expression reads, by its syntax tree; what cannot be parsed has a defect."""
    try:
        tree = parsed(expression)
    except ValueError as error:
        return Reading(defects=(str(error),))
    reader = _Reader()
    reader.whole(tree, _At.ROOT)
    return Reading(
        frozenset(reader.references), frozenset(reader.fields), frozenset(reader.roots), tuple(reader.defects)
    )


def references(expression: str) -> frozenset[str]:
    """The nodes that an expression reads, by name."""
    return frozenset(reference.node for reference in read(expression).references)


def nodes_read(*values: object) -> frozenset[str]:
    """The nodes that all expressions inside JSON values read, by name."""
    found = (expression_in(text) for value in values for _, text in texts_in(value))
    return frozenset[str]().union(*(references(one) for one in found if one is not None))


class _Reader:
    """Follows an expression through the facts without their values."""

    def __init__(self) -> None:
        self.references: set[Reference] = set()
        self.fields: set[str] = set()
        self.roots: set[str] = set()
        self.defects: list[str] = []

    def whole(self, tree: Tree, at: _Where) -> None:
        """A part whose value is used as it is: it names neither all facts nor all nodes."""
        if tree["type"] == "expref":
            self.defects.append("& stands before an argument of sort_by, min_by, max_by and map only")
        where = self._follow(tree, at)
        if where in {_At.ROOT, _At.NODES}:
            self.defects.append(NO_VALUE)
        elif isinstance(where, str):
            self.references.add(Reference(where))

    def _follow(self, tree: Tree, at: _Where) -> _Where:
        """Where a part leads."""
        if tree["type"] == "identity":
            return at
        if tree["type"] == "field":
            return self._field(tree["value"], at)
        if tree["type"] in _STEPS:
            if tree["type"] != "pipe" and tree["children"][0]["type"] == "not_expression":
                self.defects.append("has ! before a path, which negates its first name alone: write !(input.name)")
                return _At.VALUE
            for child in tree["children"]:
                at = self._follow(child, at)
            return at
        self._parts(tree, at)
        return _At.VALUE

    def _parts(self, tree: Tree, at: _Where) -> None:
        """The parts of one that makes a value of its own."""
        children: list[Tree] = tree["children"]
        if tree["type"] in {"current", "index", "slice"}:
            self._inside(at)
        elif tree["type"] == "function_expression":
            self._function(tree["value"], children, at)
        else:
            is_projection = tree["type"] in _PROJECTIONS
            for number, child in enumerate(children):
                self.whole(child, _At.VALUE if is_projection and number else at)

    def _inside(self, at: _Where) -> None:
        if at in {_At.ROOT, _At.NODES}:
            self.defects.append(NO_VALUE)
        elif isinstance(at, str):
            self.references.add(Reference(at))

    def _field(self, name: str, at: _Where) -> _Where:
        if isinstance(at, str):
            self._known(name, OF_NODE, f"nodes.{at}.")
            self.references.add(Reference(at, name))
        elif at is _At.NODES:
            return name
        elif at is _At.RUN:
            self._known(name, OF_RUN, "run.")
        elif at is _At.INPUT:
            self.fields.add(name)
        elif at is _At.ROOT:
            self._known(name, ROOTS)
            self.roots.add(name)
            return {"nodes": _At.NODES, "run": _At.RUN, "input": _At.INPUT}.get(name, _At.VALUE)
        return _At.VALUE

    def _known(self, name: str, names: Iterable[str], before: str = "") -> None:
        if name not in names:
            known = ", ".join(f"{before}{one}" for one in names)
            self.defects.append(f"{before}{name[:40]} is unknown: there are {known}")

    def _function(self, name: str, arguments: list[Tree], at: _Where) -> None:
        known = Functions.FUNCTION_TABLE.get(name)
        if known is None:
            self.defects.append(f"calls {name[:40]}(), and there are {', '.join(sorted(Functions.FUNCTION_TABLE))}")
            return
        wanted = known["signature"]
        fits = len(arguments) >= len(wanted) if wanted[-1].get("variadic") else len(arguments) == len(wanted)
        if not fits:
            self.defects.append(f"calls {name}() with {len(arguments)} arguments, and it takes {len(wanted)}")
            return
        for number, argument in enumerate(arguments):
            takes = wanted[min(number, len(wanted) - 1)]["types"]
            if takes != ["expref"]:
                self.whole(argument, at)
            elif argument["type"] == "expref":
                self.whole(argument["children"][0], _At.VALUE)
            else:
                self.defects.append(f"calls {name}() without & before its argument {number + 1}")
