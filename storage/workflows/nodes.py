"""The nodes of a run, as people look at them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.jobs.job import JsonObject
from domain.workflows.advance import NodeEnd, NodeError
from domain.workflows.joins import NodeState, SkipReason
from storage.postgres.database import Transaction

THE_NODE = -1
"""The `item` of a node itself."""


class NodePosition(NamedTuple):
    """Where a list is: the last node, or item of a node, that was shown."""

    node: str
    item: int


@dataclass(frozen=True, slots=True)
class NodeLine:
    """Where a node of a run stands, or an item of a node."""

    node: str
    item: int
    state: NodeState
    pending: int
    """Needs whose end is not counted yet."""
    job_id: UUID | None
    child_run: UUID | None
    error: JsonObject | None
    output_refused: str | None
    skipped_because: str | None
    wait_name: str | None
    wait_until: datetime | None
    approval_id: UUID | None
    items_total: int | None
    items_started: int | None
    items_done: int | None
    items_failed: int | None
    items_canceled: int | None
    round: int
    cost_microcents: int
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredNode(NodeLine):
    """The same, with what it was given and what it gave."""

    input: object
    output: object


def listed(
    tx: Transaction, run_id: UUID, *, of_node: str | None = None, after: NodePosition | None = None, limit: int
) -> Sequence[NodeLine]:
    """The nodes of a run, by their names; with `of_node`, the items of that node that have begun, by their numbers."""
    rows = tx.run(
        "list_nodes",
        run_id=run_id,
        of_node=of_node,
        last_node=after and after.node,
        last_item=None if after is None else after.item,
        limit=limit,
    )
    return [NodeLine(**row._asdict() | {"state": NodeState(row.state)}) for row in rows]


def get(tx: Transaction, run_id: UUID, node: str, item: int = THE_NODE) -> StoredNode | None:
    """One node of a run, or one item of a node."""
    rows = tx.run("get_node", run_id=run_id, node=node, item=item)
    return StoredNode(**rows[0]._asdict() | {"state": NodeState(rows[0].state)}) if rows else None


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
