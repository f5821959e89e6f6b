"""Counts ends: items at their node, nodes at the nodes that need them and at the run."""

from domain.workflows.advance import NodeError, end_of_items
from domain.workflows.joins import NodeState
from storage.workflows import advancing
from storage.workflows.advancing import EndedNode, ItemCounts
from tasks.workflows.steps.advance import Advance

ITEMS_FAILED = "items_failed"
"""The code of a node of whose items some failed."""


def count_ends(at: Advance) -> int | None:
    """Count what has ended; returns how many nodes of the run are left, None where no node had ended."""
    taken = at.ended.answer
    at.left -= taken.rows
    at.is_locked = taken.is_more and at.left > 0
    at.succeeded |= {name for name, state in taken.nodes.items() if state is NodeState.SUCCEEDED}
    if taken.items:
        counts = advancing.count_items(at.tx, at.run_id, taken.items)
        end_nodes(at, [end_of_list(one) for one in counts if is_over(at, one)])
    return taken.nodes_left


def is_over(at: Advance, counts: ItemCounts) -> bool:
    """Whether a node with items has ended: all of them have, or all that have begun where the run begins no more."""
    return counts.ended == (counts.total if at.stop is None else counts.started)


def end_of_list(counts: ItemCounts) -> EndedNode:
    """How a node with items has ended."""
    never_began = counts.total - counts.started
    state = end_of_items(failed=counts.failed, canceled=counts.canceled + never_began)
    error = None
    if state is NodeState.FAILED:
        error = NodeError(ITEMS_FAILED, f"{counts.failed} of {counts.total} items failed")
    return EndedNode(counts.node, state, error)


def end_nodes(at: Advance, ended: list[EndedNode]) -> None:
    """End nodes; the next count takes them along."""
    if ended:
        advancing.end_nodes(at.tx, at.run_id, ended)
        at.again = True
