"""What a run waits for, as its advance sees it: events, times, work that is asked to stop; and the end of a run."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject
from domain.workflows.advance import NodeError, RunEnd, RunFailure
from domain.workflows.joins import NodeState
from storage.postgres.arrays import array, column, json_array
from storage.postgres.database import Transaction
from storage.workflows.advancing import ItemCounts
from storage.workflows.runs import Run


class KeptEvent(NamedTuple):
    """An event that no wait has taken."""

    event_id: UUID
    name: str
    at: datetime


class EventWaiting(NamedTuple):
    """A node that waits for an event."""

    node: str
    event: str
    until: datetime | None


class DueNode(NamedTuple):
    """A node, or an item of a node, whose time is over."""

    node: str
    item: int
    state: NodeState
    job_id: UUID | None
    child_run: UUID | None
    input: JsonObject | None


class EndedWait(NamedTuple):
    """How a wait ends whose time has come."""

    node: str
    state: NodeState
    output: JsonObject | None = None
    error: NodeError | None = None


class CanceledNode(NamedTuple):
    """A node that was canceled before it had work, and what people know its question by."""

    node: str
    item: int
    approval_id: UUID | None


def kept_events(tx: Transaction, run_id: UUID) -> Sequence[KeptEvent]:
    """Events that no wait has taken, the oldest first."""
    return [KeptEvent(*row) for row in tx.run("list_kept_events", run_id=run_id)]


def event_waits(tx: Transaction, run_id: UUID) -> Sequence[EventWaiting]:
    """Nodes that wait for an event, the longest waiting first."""
    return [EventWaiting(*row) for row in tx.run("list_event_waits", run_id=run_id)]


def take_events(tx: Transaction, run_id: UUID, pairs: Sequence[tuple[str, UUID]]) -> int:
    """Each of these nodes takes its event; returns how many have ended so."""
    nodes, event_ids = zip(*pairs, strict=True)
    return len(tx.run("take_events", run_id=run_id, nodes=array(nodes), event_ids=array(event_ids)))


def due_nodes(tx: Transaction, run_id: UUID, limit: int) -> Sequence[DueNode]:
    """Nodes and items whose time is over."""
    rows = tx.run("list_due_nodes", run_id=run_id, limit=limit)
    return [DueNode(row.node, row.item, NodeState(row.state), *row[3:]) for row in rows]


def end_waits(tx: Transaction, run_id: UUID, ended: Sequence[EndedWait]) -> Sequence[UUID]:
    """End waits whose time has come; returns what people know the questions among them by."""
    rows = tx.run(
        "end_waits",
        run_id=run_id,
        nodes=array(one.node for one in ended),
        states=array(one.state.value for one in ended),
        outputs=json_array(one.output for one in ended),
        errors=column(one.error and one.error._asdict() for one in ended),
    )
    return [row.approval_id for row in rows if row.approval_id is not None]


def next_due(tx: Transaction, run_id: UUID) -> datetime | None:
    """When the next time of a node or an item is over."""
    at: datetime | None = tx.run("next_due_time", run_id=run_id)[0].at
    return at


def set_timer(tx: Transaction, run_id: UUID, at: datetime, job_id: UUID) -> None:
    """Keep which advance comes by time."""
    tx.run("set_timer", run_id=run_id, at=at, job_id=job_id)


def running_children(tx: Transaction, run_id: UUID, limit: int) -> Sequence[UUID]:
    """Runs of nodes that have not been asked to stop."""
    return [row.child_run for row in tx.run("list_running_children", run_id=run_id, limit=limit)]


class Stopping(NamedTuple):
    """Why work is asked to stop, and which."""

    why: str
    """How the nodes end then: `canceled`, `deadline` or `timeout`."""
    reason: str
    child_runs: Sequence[UUID]
    only: Sequence[DueNode] | None = None
    """None: all that runs."""


def stop(tx: Transaction, run_id: UUID, asked: Stopping, limit: int) -> tuple[int, Sequence[UUID]]:
    """Ask work of nodes to stop, as far as nobody has locked it: the caller comes again for the rest.

    Returns how many were asked, and the runs that the caller has go on, to end.
    """
    # Runs before nodes: the end of a run locks both in this order, too.
    child_runs, only = array(asked.child_runs), asked.only
    ending = tx.run("cancel_child_runs", run_id=run_id, run_ids=child_runs, reason=asked.reason)
    rows = tx.run(
        "stop_nodes",
        run_id=run_id,
        why=asked.why,
        child_runs=child_runs,
        nodes=None if only is None else array(one.node for one in only),
        items=None if only is None else array(one.item for one in only),
        limit=limit,
    )
    job_ids = [row.job_id for row in rows if row.job_id is not None]
    locked: list[UUID] = []
    if job_ids:
        found = tx.run("cancel_jobs_of_nodes", run_id=run_id, job_ids=array(job_ids), reason=asked.reason)
        locked = [row.job_id for row in found]
    if locked:
        tx.run("take_back_stops", run_id=run_id, job_ids=array(locked), why=asked.why)
    return len(rows) - len(locked), [row.run_id for row in ending]


def stop_with_outer_run(tx: Transaction, run: Run) -> bool:
    """Have a run that the caller has locked canceled if a run around it is being stopped; whether it was."""
    if run.parent_run is None or run.cancel_requested_at is not None:
        return False
    return bool(
        tx.run(
            "stop_with_outer_run",
            run_id=run.run_id,
            parent_run=run.parent_run,
            node=run.parent_node,
            item=run.parent_item,
        )
    )


def has_work_to_stop(tx: Transaction, run_id: UUID) -> bool:
    """Whether something in a run that begins no more was locked, and has not been canceled or asked to stop."""
    return bool(tx.run("has_work_to_stop", run_id=run_id)[0].is_there)


def cancel_open(tx: Transaction, run_id: UUID, limit: int) -> Sequence[CanceledNode]:
    """End nodes that have not begun, and those that wait, as canceled."""
    return [CanceledNode(*row) for row in tx.run("cancel_open_nodes", run_id=run_id, limit=limit)]


def stopped_lists(tx: Transaction, run_id: UUID) -> Sequence[ItemCounts]:
    """Nodes with items of which none is at work any more, in a run that begins no more."""
    return [ItemCounts(*row) for row in tx.run("list_stopped_lists", run_id=run_id)]


def note_deadline(tx: Transaction, run_id: UUID, failure: RunFailure) -> None:
    """Keep that the time of a run is over."""
    tx.run("note_deadline", run_id=run_id, failure=Jsonb(_failure(failure)))


def end_run(tx: Transaction, run: Run, end: RunEnd) -> bool:
    """End a run, and the node for which it was made; whether the run around it has to go on."""
    failure = None if end.failure is None else Jsonb(_failure(end.failure))
    output = None if end.output is None else Jsonb(end.output)
    rows = tx.run("end_run", run_id=run.run_id, state=end.state.value, output=output, failure=failure)
    if not rows or run.parent_run is None:
        return False
    reason = end.failure.reason if end.failure else run.cancel_reason or "canceled"
    code = end.failure.code if end.failure else "canceled"
    ended = tx.run(
        "end_node_of_run",
        run_id=run.run_id,
        parent_run=run.parent_run,
        node=run.parent_node,
        item=run.parent_item,
        state=end.state.value,
        output=output,
        error=Jsonb({"code": code, "reason": f"its run {run.run_id}: {reason}"[:1000]}),
        cost=rows[0].cost_microcents,
    )
    return bool(ended)


def _failure(failure: RunFailure) -> JsonObject:
    return {"code": failure.code, "reason": failure.reason[:1000], "nodes": list(failure.nodes)}
