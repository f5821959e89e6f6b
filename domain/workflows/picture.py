"""A workflow as a picture: a box per node, in columns from the first to the last, with how each stands in a run."""

from collections.abc import Mapping
from typing import NamedTuple

from domain.workflows.definition import Definition
from domain.workflows.joins import NodeState


class ItemCounts(NamedTuple):
    """The items of a node, which share its box."""

    total: int
    ended: int
    failed: int


class NodeStatus(NamedTuple):
    """How a node stands in a run."""

    state: NodeState
    items: ItemCounts | None = None


def draw(definition: Definition, statuses: Mapping[str, NodeStatus] | None = None) -> str:
    """The picture as SVG; without statuses, of the definition alone."""
    raise NotImplementedError
