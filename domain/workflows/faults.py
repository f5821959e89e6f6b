"""What people write as a definition, read; all its faults at once, each with its place and the reason."""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from domain.clean_text import UNSTORABLE, clean_text
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep
from domain.payloads.payload import Payload, payload_types
from domain.payloads.registry import Registry
from domain.privacy.secrets import secret_in
from domain.workflows.definition import (
    LARGEST_DOCUMENT,
    NO_INPUT,
    Definition,
    NodeDocument,
    definition_of,
    read_head,
    read_node,
)
from domain.workflows.graph import circles, order
from domain.workflows.inputs import InputCheck, schema_misfits
from domain.workflows.misfits import Misfit, misfits_of
from domain.workflows.node_faults import Surroundings, faults_of_node, faults_of_value
from domain.workflows.references import texts_in
from domain.workflows.sub_workflows import FindWorkflow, faults_of_calls
from domain.yaml_source import Path, UnreadableYaml, YamlSource, as_pointer, read_yaml

LONGEST_JSON = 1024 * 1024
"""Bytes of a text, with its white space."""
MOST_VALUES = 100_000
"""Of a document in YAML: a thousand nodes of a hundred values."""
MOST_FAULTS = 100
"""Nobody mends more before reading the document anew; the last says how many are left out."""


class Form(StrEnum):
    """How a definition is written."""

    YAML = "yaml"
    JSON = "json"


class Fault(NamedTuple):
    """One fault of a definition."""

    pointer: str
    """JSON pointer (RFC 6901) of the value; `/` is the whole document."""
    reason: str
    line: int | None = None
    """From 1; None where the document came as values."""


class Faults(Invalid):
    """A definition that is refused, with all its faults in the order of the document."""

    def __init__(self, *faults: Fault) -> None:
        """The first fault is the failure's own field and reason; `faults` are all."""
        first, more = faults[0], len(faults) - 1
        super().__init__(first.pointer, first.reason + (f" (and {more} more)" if more else ""))
        self.faults = faults


class Checked(NamedTuple):
    """A definition without a fault, and the document that is saved."""

    definition: Definition
    document: JsonObject


def read(text: bytes, form: Form, find: FindWorkflow, types: Registry[type[Payload]] = payload_types) -> Checked:
    """Read a file; raises `Faults`."""
    if form is Form.JSON:
        return check(_read_json(text), find, types)
    try:
        source = read_yaml(text, most_values=MOST_VALUES)
    except UnreadableYaml as error:
        raise Faults(Fault(as_pointer(error.path), error.reason, error.mark.line)) from None
    return _check(source.value, find, types, source)


def check(document: object, find: FindWorkflow, types: Registry[type[Payload]] = payload_types) -> Checked:
    """Check a document that came as JSON values; raises `Faults`."""
    return _check(document, find, types, None)


def _check(document: object, find: FindWorkflow, types: Registry[type[Payload]], source: YamlSource | None) -> Checked:
    reading = _Reading(document, find, types)
    found = sorted(dict.fromkeys(reading.faults()), key=lambda misfit: _position(document, misfit.path))
    if found or not isinstance(document, dict):
        left_out = len(found) - MOST_FAULTS
        last = [Misfit((), f"has {left_out + 1} more faults")] if left_out > 0 else found[MOST_FAULTS - 1 :]
        raise Faults(*(_fault(misfit, source) for misfit in (*found[: MOST_FAULTS - 1], *last)))
    return Checked(definition_of(document), document)


class _Reading:
    """A document, and the nodes of it that could be read."""

    def __init__(self, document: object, find: FindWorkflow, types: Registry[type[Payload]]) -> None:
        self._document, self._find, self._types = document, cache(find), types
        self._nodes: dict[str, NodeDocument | None] = {}
        """By name in the order of the document; None for a node that cannot be read."""

    def faults(self) -> Iterator[Misfit]:
        """All of them, in no order."""
        unreadable = list(_unreadable(self._document))
        if unreadable:
            yield from unreadable
        elif isinstance(self._document, dict):
            yield from _secrets(self._document)
            yield from self._shapes(self._document)
            yield from self._meanings(self._document)

    def _shapes(self, document: JsonObject) -> Iterator[Misfit]:
        try:
            read_head(document)
        except ValidationError as error:
            yield from misfits_of(error)
        given = document.get("nodes")
        for name, node in given.items() if isinstance(given, dict) else ():
            try:
                self._nodes[name] = read_node(node)
            except ValidationError as error:
                self._nodes[name] = None
                yield from _under(("nodes", name), misfits_of(error))

    def _meanings(self, document: JsonObject) -> Iterator[Misfit]:
        given = document.get("input")
        schema = given if isinstance(given, dict) else NO_INPUT
        yield from _under(("input",), schema_misfits(schema))
        needs = {name: _needs(node, self._nodes) for name, node in self._nodes.items()}
        around = circles(needs)
        for nodes in around:
            yield Misfit(("nodes", nodes[0], "needs"), f"is a circle: {' → '.join(nodes)}")
        is_before = None if around else order(needs)
        surroundings = Surroundings(self._nodes, is_before, schema, cache(self._find_check), self._types)
        for name, node in self._nodes.items():
            if node is not None:
                yield from _under(("nodes", name), faults_of_node(name, node, surroundings))
        yield from faults_of_value(document.get("output"), ("output",), surroundings)
        calls = {name: node.workflow for name, node in self._nodes.items() if node is not None and node.workflow}
        yield from faults_of_calls(str(document.get("name")), calls, self._find)

    def _find_check(self, name: str) -> InputCheck | None:
        found = self._find(name)
        return None if found is None else InputCheck(found.input_schema)


def _needs(node: NodeDocument | None, nodes: Mapping[str, object]) -> list[str]:
    return [] if node is None else [need for need in node.needs if need in nodes]


def _under(path: Path, misfits: Iterator[Misfit]) -> Iterator[Misfit]:
    return (Misfit((*path, *misfit.path), misfit.reason) for misfit in misfits)


def _unreadable(document: object) -> Iterator[Misfit]:
    """What keeps a document from being looked at any closer."""
    if not isinstance(document, dict):
        yield Misfit((), "must be a mapping with name and nodes")
    elif nests_too_deep(document):
        yield Misfit((), f"nests more than {MOST_LEVELS} levels deep")
    else:
        for path, text in texts_in(document, keys=True):
            if clean_text(text) != text:
                yield Misfit(path, UNSTORABLE)
        try:
            size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass"))
        except (TypeError, ValueError):
            yield Misfit((), "holds what is no value of JSON")
        else:
            if size > LARGEST_DOCUMENT:
                yield Misfit((), f"has {size} bytes as JSON, {LARGEST_DOCUMENT} at most")


def _secrets(document: JsonObject) -> Iterator[Misfit]:
    """A definition is shown to whoever may read the org's workflows, and becomes payloads."""
    nodes = document.get("nodes")
    parts: list[tuple[Path, object]] = [((key,), value) for key, value in document.items() if key != "nodes"]
    parts += [(("nodes", name), node) for name, node in (nodes.items() if isinstance(nodes, dict) else ())]
    for path, part in parts:
        field = secret_in({str(path[-1]): part} if not isinstance(part, dict) else part)
        if field is not None:
            yield Misfit(path, f"must not carry a secret, and {field[:60]} names or holds one")


def _position(document: object, path: Path) -> list[int]:
    """Where a path is in the document; what is missing comes after what is there."""
    position = []
    for part in path:
        if isinstance(document, dict):
            position.append(list(document).index(part) if part in document else len(document))
            document = document.get(part)
        elif isinstance(document, list) and isinstance(part, int):
            position.append(part)
            document = document[part] if part < len(document) else None
    return position


def _fault(misfit: Misfit, source: YamlSource | None) -> Fault:
    line = None if source is None else source.mark(misfit.path, key=True).line
    return Fault(as_pointer(misfit.path), misfit.reason, line)


def _read_json(text: bytes) -> object:
    """The values of a text; raises `Faults`."""
    if len(text) > LONGEST_JSON:
        raise Faults(Fault("/", f"is longer than {LONGEST_JSON} bytes"))
    try:
        return json.loads(text, object_pairs_hook=_keys_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Faults(Fault("/", f"is no JSON: {error.msg}", error.lineno)) from None
    except UnicodeDecodeError:
        raise Faults(Fault("/", "is not UTF-8")) from None
    except ValueError as error:
        raise Faults(Fault("/", str(error)[:200])) from None
    except RecursionError:
        raise Faults(Fault("/", f"nests more than {MOST_LEVELS} levels deep")) from None


def _keys_once(pairs: list[tuple[str, Any]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice")
    return made


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no value of JSON")
