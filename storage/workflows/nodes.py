"""The nodes of a run, as people look at them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.workflows.advance import NodeEnd, NodeError
from domain.workflows.definition import MOST_NODES
from domain.workflows.joins import NodeState, SkipReason
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

THE_NODE = -1
"""The `item` of a node itself."""


def listed(tx: Transaction, run_id: UUID) -> Sequence[Row]:
    """All nodes of a run, by their names, without what they were given and gave."""
    return tx.run("list_nodes", run_id=run_id, of_node=None, after_node=None, after_item=None, limit=MOST_NODES)


def get(tx: Transaction, run_id: UUID, node: str, item: int = THE_NODE) -> Row | None:
    """One node of a run, or one item of a node, with what it was given and gave."""
    rows = tx.run("get_node", run_id=run_id, node=node, item=item)
    return rows[0] if rows else None


def ends(tx: Transaction, run_id: UUID) -> Mapping[str, NodeEnd]:
    """How each node of a run stands, as the domain's rules of ends and resumes take it."""
    rows = tx.run("list_node_ends", run_id=run_id)
    return {row.node: node_end(row.state, row.skipped_because, row.error) for row in rows}


def node_end(state: str, skipped_because: str | None, error: JsonObject | None) -> NodeEnd:
    """How a node stands, by the columns of its row."""
    return NodeEnd(
        NodeState(state),
        None if skipped_because is None else SkipReason(skipped_because),
        None if error is None else NodeError(error["code"], error["reason"]),
    )
