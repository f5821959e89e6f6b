"""How a run goes on: ends are counted, nodes are judged, their work begins. The holder of the run's row calls this."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.orgs.access.users import UserRole
from domain.workflows.advance import NodeEnd, NodeError
from domain.workflows.expressions import LARGEST_OUTPUTS, NodeFacts, RefusedOutput
from domain.workflows.joins import NodeState, SkipReason
from storage.postgres.arrays import array, column, json_array
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked
from storage.workflows.nodes import node_end
from storage.workflows.runs import Run


class TakenEnds(NamedTuple):
    """Ends that a transaction counts."""

    nodes: Mapping[str, NodeState]
    items: Mapping[str, Counter[NodeState]]
    """By node: how many of its items have ended how."""
    rows: int
    is_more: bool
    """Whether other ends are to be counted, too: those above the limit, and those that somebody has locked."""
    nodes_left: int | None
    """How many nodes of the run are left; None where none of these was a node's end."""


class ItemCounts(NamedTuple):
    """How the items of a node stand."""

    node: str
    total: int
    started: int
    done: int
    failed: int
    canceled: int

    @property
    def ended(self) -> int:
        """How many have ended."""
        return self.done + self.failed + self.canceled


class EndedNode(NamedTuple):
    """How a node ends that has no work, or whose items have ended."""

    node: str
    state: NodeState
    error: NodeError | None = None
    skipped_because: SkipReason | None = None


class NextNode(NamedTuple):
    """A node whose turn it is; the other fields are set where it goes on from an earlier round."""

    node: str
    input: Any
    """Of one with items the list."""
    child_run: UUID | None
    items_total: int | None


class Begun(NamedTuple):
    """A node, or an item of a node, whose work begins; with `error` an item that failed before it did."""

    node: str
    item: int
    input: object
    job_id: UUID | None = None
    child_run: UUID | None = None
    wait_until: datetime | None = None
    error: NodeError | None = None
    approval_id: UUID | None = None
    roles: Sequence[UserRole] = ()

    @property
    def state(self) -> NodeState:
        """Where it stands with that."""
        if self.error is not None:
            return NodeState.FAILED
        return NodeState.RUNNING if self.job_id or self.child_run else NodeState.WAITING


class OpenList(NamedTuple):
    """A node of whose items some have not begun."""

    node: str
    items: Sequence[object]
    items_total: int
    items_started: int
    items_ended: int
    next_item: int
    """Of those that never began the first."""


class PutBack(NamedTuple):
    """An item that a resume has put back."""

    item: int
    input: JsonObject | None
    child_run: UUID | None


def count_ended(tx: Transaction, run_id: UUID, limit: int) -> Asked[TakenEnds]:
    """Count ends that are not counted yet, as many as are asked for: at the nodes that need them, and at the run."""
    return tx.leave("count_ended_nodes", _taken, run_id=run_id, limit=limit)


def _taken(found: Sequence[Row]) -> TakenEnds:
    rows = [row for row in found if row.node is not None]
    items: dict[str, Counter[NodeState]] = {}
    for row in rows:
        if row.is_item:
            items.setdefault(row.node, Counter())[NodeState(row.state)] += row.ends
    nodes = {row.node: NodeState(row.state) for row in rows if not row.is_item}
    left = min((row.nodes_left for row in rows if row.nodes_left is not None), default=None)
    return TakenEnds(nodes, items, sum(row.ends for row in rows), len(rows) < len(found), left)


def count_items(tx: Transaction, run_id: UUID, items: Mapping[str, Counter[NodeState]]) -> Sequence[ItemCounts]:
    """Add ended items to their nodes; returns how these stand then."""
    counts = {
        node: {
            "done": ends[NodeState.SUCCEEDED],
            "failed": ends[NodeState.FAILED],
            "canceled": ends[NodeState.CANCELED],
        }
        for node, ends in items.items()
    }
    rows = tx.run("count_items", run_id=run_id, counts=Jsonb(counts))
    return [ItemCounts(*row) for row in rows]


def have_succeeded(names: Collection[str]) -> Mapping[str, tuple[NodeEnd, NodeFacts]]:
    """How nodes stand that have all succeeded, in the form of `read_nodes`."""
    return dict.fromkeys(names, (NodeEnd(NodeState.SUCCEEDED), NodeFacts(NodeState.SUCCEEDED)))


def next_nodes(tx: Transaction, run_id: UUID, limit: int) -> Asked[Sequence[NextNode]]:
    """Nodes all of whose needs have ended, and that nobody has judged."""
    return tx.leave("list_next_nodes", _next_nodes, run_id=run_id, limit=limit)


def _next_nodes(rows: Sequence[Row]) -> Sequence[NextNode]:
    return [NextNode(*row) for row in rows]


def read_nodes(
    tx: Transaction, run_id: UUID, names: Collection[str], read: Collection[str]
) -> Mapping[str, tuple[NodeEnd, NodeFacts]]:
    """How nodes stand, and of those that are `read` what expressions may know."""
    if not names:
        return {}
    rows = tx.run("read_nodes", run_id=run_id, nodes=sorted(names), read=sorted(read))
    return {
        row.node: (
            node_end(row.state, row.skipped_because, row.error),
            _facts(tx, run_id, row) if row.node in read else NodeFacts(NodeState(row.state)),
        )
        for row in rows
    }


def _facts(tx: Transaction, run_id: UUID, row: Row) -> NodeFacts:
    state = NodeState(row.state)
    if row.items_total is not None:
        return NodeFacts(state, outputs=_outputs(tx, run_id, row.node, row.items_total), error=row.error)
    refused = row.output_refused
    return NodeFacts(state, output=row.output if refused is None else RefusedOutput(refused), error=row.error)


def _outputs(tx: Transaction, run_id: UUID, node: str, total: int) -> list[object] | RefusedOutput:
    size = tx.run("measure_outputs", run_id=run_id, node=node)[0].bytes
    if size > LARGEST_OUTPUTS:
        return RefusedOutput(f"has {size} bytes with all its items, and an expression reads {LARGEST_OUTPUTS}")
    outputs: list[object] = [None] * total
    for item, output, refused in tx.run("read_outputs", run_id=run_id, node=node):
        outputs[item] = output if refused is None else RefusedOutput(refused)
    return outputs


def end_nodes(tx: Transaction, run_id: UUID, ended: Sequence[EndedNode]) -> None:
    """End nodes; `count_ended` counts their ends as any other."""
    documents = {
        one.node: {"state": one.state, "error": _error(one.error), "skipped_because": one.skipped_because}
        for one in ended
    }
    tx.run("end_nodes", run_id=run_id, ended=Jsonb(documents))


def begin_nodes(tx: Transaction, run: Run, begun: Sequence[Begun]) -> None:
    """Write that the work of nodes has begun, or their wait; the ends of their jobs are waited for."""
    document = Jsonb({one.node: _begun(one) for one in begun})
    tx.leave("begin_nodes", list, run_id=run.run_id, org_id=run.org_id, begun=document)


def _begun(begun: Begun) -> JsonObject:
    return {
        "state": begun.state,
        "input": begun.input,
        "job_id": begun.job_id and begun.job_id.hex,
        "child_run": begun.child_run and begun.child_run.hex,
        "wait_until": begun.wait_until and begun.wait_until.isoformat(),
        "approval_id": begun.approval_id and begun.approval_id.hex,
        "roles": list(begun.roles) or None,
    }


def begin_lists(tx: Transaction, run_id: UUID, lists: Mapping[str, Sequence[object]], *, new_items: int) -> None:
    """Write that nodes begin whose work is done for each item of a list."""
    tx.run("begin_lists", run_id=run_id, lists=Jsonb(lists))
    tx.run("add_items_to_run", run_id=run_id, items=new_items)


def open_lists(tx: Transaction, run_id: UUID) -> Sequence[OpenList]:
    """Nodes of whose items some have not begun."""
    return [OpenList(*row) for row in tx.run("list_open_lists", run_id=run_id)]


def put_back_items(tx: Transaction, run_id: UUID, node: str, limit: int) -> Sequence[PutBack]:
    """Items of a node that a resume has put back, in their order."""
    return [PutBack(*row) for row in tx.run("list_put_back_items", run_id=run_id, node=node, limit=limit)]


def begin_items(tx: Transaction, run: Run, node: str, begun: Sequence[Begun]) -> None:
    """Write that items of a node have begun, or failed before they did; the ends of their jobs are waited for."""
    tx.run(
        "begin_items",
        run_id=run.run_id,
        org_id=run.org_id,
        round=run.round,
        node=node,
        items=array(one.item for one in begun),
        states=array(one.state.value for one in begun),
        inputs=json_array(one.input for one in begun),
        job_ids=column(one.job_id for one in begun),
        child_runs=column(one.child_run for one in begun),
        wait_untils=column(one.wait_until for one in begun),
        errors=column(_error(one.error) for one in begun),
    )


@contextmanager
def part(tx: Transaction) -> Iterator[None]:
    """Keep what is written inside, or undo it alone and raise `Invalid` where it is refused."""
    tx.leave("begin_part", list)
    try:
        yield
    except Invalid:
        tx.run("undo_part")
        raise
    tx.leave("keep_part", list)


def _error(error: NodeError | None) -> JsonObject | None:
    return None if error is None else error._asdict()
