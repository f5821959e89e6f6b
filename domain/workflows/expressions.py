"""`${…}`: one JMESPath expression as a whole value, checked when it is saved, and bounded when it is evaluated.

An expression sees `input`, `nodes.<name>`, `run`, and for a node with items `item` and `index` (docs:
workflows.md#expressions). A text that is not `${…}` as a whole is itself.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from domain.workflows.joins import NodeState

LONGEST_EXPRESSION = 1_000
"""Characters."""
MOST_VISITS = 10_000
"""Steps of one evaluation: some 20 ms."""
LARGEST_VALUE = 64 * 1024
"""Bytes as JSON of each value that is made on the way."""

Facts = Mapping[str, Any]
"""What an expression sees: `input`, `nodes`, `run`, `item`, `index`."""


class RefusedOutput(NamedTuple):
    """In the place of an output that could not be kept: an expression that reads it fails with the reason."""

    reason: str


class NodeFacts(NamedTuple):
    """What expressions may read of a node that has ended: `nodes.<name>.state`, `.output`, `.outputs`, `.error`."""

    state: NodeState
    output: Any = None
    """A JSON value or `RefusedOutput`; null for a node that has items, and for one that did not succeed."""
    outputs: list[Any] | None = None
    """Of a node that has items: in their order, null for each that did not succeed."""
    error: Mapping[str, str] | None = None
    """`code` and `reason` of a failure."""


def expression_in(value: object) -> str | None:
    """What is inside a value that is `${…}` as a whole; None for a literal."""
    raise NotImplementedError


def references(expression: str) -> frozenset[str]:
    """The nodes that an expression reads, by name."""
    raise NotImplementedError


def nodes_read(value: object) -> frozenset[str]:
    """The nodes that all expressions inside a JSON value read, by name."""
    raise NotImplementedError


def facts_of(given: Mapping[str, Any], nodes: Mapping[str, NodeFacts], run: Mapping[str, Any]) -> Facts:
    """What expressions see: the run's input, the nodes that they read, and `id`, `workflow`, `version` and `round`."""
    raise NotImplementedError


def evaluate(place: str, value: Any, facts: Facts) -> Any:  # noqa: ANN401 - JSON
    """The JSON value with each expression in it replaced by what it gives; raises `Invalid` with the place and why."""
    raise NotImplementedError
