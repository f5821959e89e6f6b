"""What people write as a definition, read; all its faults at once, each with its place and the reason."""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from domain.clean_text import UNSTORABLE, clean_text
from domain.documents.faults import Fault, Faults, RefusedDocument, read_source, under
from domain.documents.paths import Path
from domain.documents.yaml_source import YamlSource
from domain.jobs.job import JsonObject
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep
from domain.orgs.privacy.secrets import secret_in
from domain.payloads.payload import Payload, payload_types
from domain.payloads.registry import Registry
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
from domain.workflows.misfits import misfits_of
from domain.workflows.node_faults import Surroundings, faults_of_node, faults_of_value
from domain.workflows.references import texts_in
from domain.workflows.sub_workflows import FindWorkflow, faults_of_calls

LONGEST_JSON = 1024 * 1024
"""Bytes of a text, with its white space."""
MOST_VALUES = 100_000
"""Of a document in YAML: a thousand nodes of a hundred values."""


class Form(StrEnum):
    """How a definition is written."""

    YAML = "yaml"
    JSON = "json"


class Checked(NamedTuple):
    """A definition without a fault, and the document that is saved."""

    definition: Definition
    document: JsonObject


def read(
    text: bytes, form: Form, find: FindWorkflow, types: Registry[type[Payload]] = payload_types, *, name: str = ""
) -> Checked:
    """Read a file of this name; raises `RefusedDocument`."""
    if form is Form.JSON:
        return _check(_read_json(text, name), find, types, name=name)
    source = read_source(text, name, most_values=MOST_VALUES)
    return _check(source.value, find, types, source, name=name)


def check(document: object, find: FindWorkflow, types: Registry[type[Payload]] = payload_types) -> Checked:
    """Check a document that came as JSON values; raises `RefusedDocument`."""
    return _check(document, find, types)


def _check(
    document: object,
    find: FindWorkflow,
    types: Registry[type[Payload]],
    source: YamlSource | None = None,
    *,
    name: str = "",
) -> Checked:
    reading, faults = _Reading(document, find, types), Faults()
    found = sorted(dict.fromkeys(reading.faults()), key=lambda fault: _position(document, fault.path))
    # A line is that of a key: a fault is often that its value lacks something.
    faults.extend(fault._replace(of_key=True) for fault in found)
    if faults or not isinstance(document, dict):
        raise RefusedDocument(faults, source=source, name=name)
    return Checked(definition_of(document), document)


class _Reading:
    """A document, and the nodes of it that could be read."""

    def __init__(self, document: object, find: FindWorkflow, types: Registry[type[Payload]]) -> None:
        self._document, self._find, self._types = document, cache(find), types
        self._nodes: dict[str, NodeDocument | None] = {}
        """By name in the order of the document; None for a node that cannot be read."""

    def faults(self) -> Iterator[Fault]:
        """All of them, in no order."""
        unreadable = list(_unreadable(self._document))
        if unreadable:
            yield from unreadable
        elif isinstance(self._document, dict):
            yield from _secrets(self._document)
            yield from self._shapes(self._document)
            yield from self._meanings(self._document)

    def _shapes(self, document: JsonObject) -> Iterator[Fault]:
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
                yield from under(("nodes", name), misfits_of(error))

    def _meanings(self, document: JsonObject) -> Iterator[Fault]:
        given = document.get("input")
        schema = given if isinstance(given, dict) else NO_INPUT
        yield from under(("input",), schema_misfits(schema))
        needs = {name: _needs(node, self._nodes) for name, node in self._nodes.items()}
        around = circles(needs)
        for nodes in around:
            yield Fault(("nodes", nodes[0], "needs"), f"is a circle: {' → '.join(nodes)}")
        is_before = None if around else order(needs)
        surroundings = Surroundings(self._nodes, is_before, schema, cache(self._find_check), self._types)
        for name, node in self._nodes.items():
            if node is not None:
                yield from under(("nodes", name), faults_of_node(name, node, surroundings))
        yield from faults_of_value(document.get("output"), ("output",), surroundings)
        calls = {name: node.workflow for name, node in self._nodes.items() if node is not None and node.workflow}
        yield from faults_of_calls(str(document.get("name")), calls, self._find)

    def _find_check(self, name: str) -> InputCheck | None:
        found = self._find(name)
        return None if found is None else InputCheck(found.input_schema)


def _needs(node: NodeDocument | None, nodes: Mapping[str, object]) -> list[str]:
    return [] if node is None else [need for need in node.needs if need in nodes]


def _unreadable(document: object) -> Iterator[Fault]:
    """What keeps a document from being looked at any closer."""
    if not isinstance(document, dict):
        yield Fault((), "must be a mapping with name and nodes")
    elif nests_too_deep(document):
        yield Fault((), f"nests more than {MOST_LEVELS} levels deep")
    else:
        for path, text in texts_in(document, keys=True):
            if clean_text(text) != text:
                yield Fault(path, UNSTORABLE)
        try:
            size = len(json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass"))
        except (TypeError, ValueError):
            yield Fault((), "holds what is no value of JSON")
        else:
            if size > LARGEST_DOCUMENT:
                yield Fault((), f"has {size} bytes as JSON, {LARGEST_DOCUMENT} at most")


def _secrets(document: JsonObject) -> Iterator[Fault]:
    """A definition is shown to whoever may read the org's workflows, and becomes payloads."""
    nodes = document.get("nodes")
    parts: list[tuple[Path, object]] = [((key,), value) for key, value in document.items() if key != "nodes"]
    parts += [(("nodes", name), node) for name, node in (nodes.items() if isinstance(nodes, dict) else ())]
    for path, part in parts:
        field = secret_in({str(path[-1]): part} if not isinstance(part, dict) else part)
        if field is not None:
            yield Fault(path, f"must not carry a secret, and {field[:60]} names or holds one")


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


def _read_json(text: bytes, name: str) -> object:
    """The values of a text; raises `RefusedDocument`."""
    line = column = None
    if len(text) > LONGEST_JSON:
        reason = f"is longer than {LONGEST_JSON} bytes"
    else:
        try:
            return json.loads(text, object_pairs_hook=_keys_once, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            reason, line, column = f"is no JSON: {error.msg}", error.lineno, error.colno
        except UnicodeDecodeError:
            reason = "is not UTF-8"
        except ValueError as error:
            reason = str(error)[:200]
        except RecursionError:
            reason = f"nests more than {MOST_LEVELS} levels deep"
    raise RefusedDocument(Faults(listed=[Fault((), reason, line=line, column=column)]), name=name)


def _keys_once(pairs: list[tuple[str, Any]]) -> JsonObject:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} is there twice")
    return made


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no value of JSON")
