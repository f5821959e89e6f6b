"""Examples of requests, by the names of operations: a test makes each, in their order, and the description shows them.

Ids are in braces by their names. In the description each name has one made-up id; the test has those that it made.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

FILE = Path(__file__).with_name("examples.json")


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """By operation: the parts of the request (`path`, `query`, `body`, or `raw` for a file), and which ids are kept."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def filled(document: Any, ids: Mapping[str, object]) -> Any:  # noqa: ANN401 - any document of JSON
    """The document with ids for the names in braces; raises `KeyError` for an id that is not there."""
    match document:
        case dict():
            return {name: filled(value, ids) for name, value in document.items()}
        case list():
            return [filled(value, ids) for value in document]
        case str() if document.startswith("{") and document.endswith("_id}"):
            return str(ids[document[1:-1]])
        case _:
            return document


class MadeUpIds(dict[str, str]):
    """For each name of an id one that nothing has, always the same."""

    def __missing__(self, name: str) -> str:
        """Made of the name."""
        return str(uuid5(NAMESPACE_URL, f"https://example.org/{name}"))


def add_examples(paths: Mapping[str, Mapping[str, Any]]) -> None:
    """Put the examples into the operations of a description."""
    for item in paths.values():
        for operation in item.values():
            _add(operation, filled(examples().get(operation["operationId"], {}), MadeUpIds()))


def _add(operation: dict[str, Any], example: Mapping[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        value = example.get(parameter["in"], {}).get(parameter["name"])
        if value is not None:
            parameter["example"] = value
    if "body" in example:
        for content in operation["requestBody"]["content"].values():
            content["example"] = example["body"]
