"""Which nodes of an ended run are done again, and which are kept as they are (docs: workflow-runs.md#resume).

Done again is what made the run fail or was canceled, and all that comes after it: so each need of a kept node is kept.
A failure that a node with `run_if: failed` has dealt with is kept together with that node.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from domain.workflows.advance import NodeEnd, unhandled
from domain.workflows.definition import Definition, Node, WorkflowWork
from domain.workflows.graph import descendants
from domain.workflows.joins import NodeState

NOT_BEGUN = NodeEnd(NodeState.PENDING)


class Redo(StrEnum):
    """How a node is done again."""

    MEND = "mend"
    """All its needs are kept. What it evaluated is kept, items that succeeded are, and a run of its own is resumed."""
    ANEW = "anew"
    """A need of it is done again, or it is new: its row is as when the run began, and its items are gone."""


class ResumePlan(NamedTuple):
    """What a resume does."""

    again: Mapping[str, Redo]
    pending: Mapping[str, int]
    """Of each node of `again`: how many of its needs are, too."""
    kept: frozenset[str]
    dropped: frozenset[str]
    """Nodes that the newer version lacks."""


class Differing(NamedTuple):
    """The resume is refused: these nodes would be kept, and the newer version has them otherwise, or not at all."""

    nodes: tuple[str, ...]


def plan_resume(
    definition: Definition, ends: Mapping[str, NodeEnd], newer: Definition | None = None
) -> ResumePlan | Differing:
    """What the next round of an ended run does, by its own definition or by a newer one."""
    kept = definition.nodes.keys() - _again(definition, ends)
    nodes = definition.nodes if newer is None else newer.nodes
    differing = tuple(name for name in definition.nodes if name in kept and nodes.get(name) != definition.nodes[name])
    if differing:
        return Differing(differing)
    pending = {name: sum(need not in kept for need in node.needs) for name, node in nodes.items() if name not in kept}
    return ResumePlan(
        again={name: _redo(definition.nodes.get(name), nodes[name], pending[name]) for name in pending},
        pending=pending,
        kept=frozenset(kept),
        dropped=frozenset(definition.nodes.keys() - nodes.keys()),
    )


def _again(definition: Definition, ends: Mapping[str, NodeEnd]) -> frozenset[str]:
    """The canceled nodes, the failed ones that nothing kept has dealt with, and all after these."""
    canceled = (name for name, end in ends.items() if end.state is NodeState.CANCELED)
    again = descendants(canceled, definition.edges)
    while broken := unhandled(definition, {name: NOT_BEGUN if name in again else end for name, end in ends.items()}):
        again = descendants({*again, *broken}, definition.edges)
    return again


def _redo(before: Node | None, node: Node, pending: int) -> Redo:
    """A node that the newer version has with other items, or with other work, has nothing to go on with."""
    if before is None or pending or before.for_each != node.for_each or _work(before) != _work(node):
        return Redo.ANEW
    return Redo.MEND


def _work(node: Node) -> object:
    """What must be the same for a run of the node's own to be resumed, and for its items to be kept."""
    return node.work if isinstance(node.work, WorkflowWork) else type(node.work)
