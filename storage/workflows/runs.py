"""Runs of workflows: begun, looked at, canceled, resumed, and forgotten a month after their end."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict
from domain.jobs.job import ActorType, JsonObject, Origin
from domain.workflows.advance import RunState
from domain.workflows.definition import Definition, EventWait, definition_of
from domain.workflows.resume import ResumePlan
from storage.postgres.arrays import array, column, json_array
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, first_or_none
from storage.workflows import definitions, node_rounds

KEEP_FOR = timedelta(days=30)
"""How long a run is kept after its end, with its nodes and its events; for as long it can be resumed."""


class Around(NamedTuple):
    """The node, and the item of it, for which a run is made."""

    run_id: UUID
    node: str
    item: int
    depth: int
    """Of the new run."""
    root_run: UUID
    """The outermost run."""


class NewRun(NamedTuple):
    """A run that is to begin."""

    run_id: UUID
    org_id: UUID
    project_id: UUID | None
    version: int
    input: JsonObject
    around: Around | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A run with all that stands in its row."""

    run_id: UUID
    org_id: UUID
    project_id: UUID | None
    workflow: str
    version: int
    state: RunState
    failure: JsonObject | None
    """`code`, `reason` and `nodes`; of a run that still goes on: why it is being stopped."""
    round: int
    nodes_left: int
    items: int
    deadline_at: datetime | None
    parent_run: UUID | None
    depth: int
    cost_microcents: int
    created_at: datetime
    resumed_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    actor_type: ActorType
    actor_id: str
    pins: Mapping[str, int]
    """Versions of the workflows that it runs, by name."""
    input: JsonObject
    output: object
    timer_at: datetime | None
    timer_job: UUID | None
    """The advance that comes by time."""
    parent_node: str | None
    parent_item: int | None
    root_run: UUID | None
    """The outermost run around it; None for one that is around all others."""
    cancel_reason: str | None
    read_at: datetime
    """The database's time, when the transaction that has read it began."""
    written_by: str | None
    """The transaction that has written its version of the workflow last, as `definitions.writer` gives it."""


def begin(tx: Transaction, new: NewRun, definition: Definition, *, by: Origin) -> bool:
    """Write a run with its nodes; false where the run is there already. The caller enqueues the first advance."""
    around = new.around
    made = tx.run(
        "add_run",
        run_id=new.run_id,
        org_id=new.org_id,
        project_id=new.project_id,
        workflow=definition.name,
        version=new.version,
        pins=Jsonb(definitions.latest(tx, new.org_id, definition.workflows)),
        input=Jsonb(new.input),
        nodes_left=len(definition.nodes),
        deadline=definition.deadline,
        parent_run=around and around.run_id,
        parent_node=around and around.node,
        parent_item=None if around is None else around.item,
        root_run=around and around.root_run,
        depth=around.depth if around else 0,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
        request_id=by.request_id or str(new.run_id),
        correlation_id=by.correlation_id or by.request_id or str(new.run_id),
    )
    if made:
        pending = {name: len(node.needs) for name, node in definition.nodes.items()}
        add_nodes(tx, new.run_id, new.org_id, definition, pending)
    return bool(made)


def add_nodes(tx: Transaction, run_id: UUID, org_id: UUID, definition: Definition, pending: Mapping[str, int]) -> None:
    """Write nodes that wait for so many needs each."""
    works, dependants = [definition.nodes[name].work for name in pending], definition.dependants
    tx.run(
        "add_nodes",
        run_id=run_id,
        org_id=org_id,
        nodes=array(pending),
        pending=array(pending.values()),
        dependants=json_array(dependants[name] for name in pending),
        wait_names=column(work.event if isinstance(work, EventWait) else None for work in works),
    )


def get(tx: Transaction, run_id: UUID) -> Run | None:
    """A run that the transaction may see."""
    return tx.first("get_run", _run, run_id=run_id)


def lock(tx: Transaction, run_id: UUID) -> Asked[Run | None]:
    """The same, for the one who takes it further: its row is the first that each of these locks."""
    return tx.leave("lock_run", first_or_none(_run), run_id=run_id)


def count_inside(tx: Transaction, root_run: UUID, most: int) -> int:
    """How many runs are inside an outermost one; no more than `most` are counted."""
    count: int = tx.run("count_runs_inside", root_run=root_run, most=most)[0].runs
    return count


def go_on(tx: Transaction, *run_ids: UUID) -> None:
    """Put an advance of each of these runs in place, for the relay; as the ledger role only."""
    tx.run("advance_runs", run_ids=list(run_ids))


def request_cancel(tx: Transaction, run_id: UUID, reason: str) -> bool:
    """Have a run canceled, with the runs inside it; false when it has ended. As the ledger role only."""
    if not tx.run("request_cancel_of_run", run_id=run_id, reason=reason):
        return False
    go_on(tx, run_id)
    return True


def resume(tx: Transaction, run: Run, plan: ResumePlan, definition: Definition, version: int) -> None:
    """Begin the next round of an ended run that the caller has locked; as the ledger role only.

    `plan` is that of `domain.workflows.resume`, `definition` that of the version by which the run goes on. Raises
    `Conflict` for a run that has not ended, and for one of a node: what can be resumed is the run around it.
    """
    if run.parent_run is not None:
        raise Conflict(f"run_id: is of a node of the run {run.parent_run}: resume that one")
    begin_round(tx, run, plan, definition, version)
    go_on(tx, run.run_id)


def begin_round(tx: Transaction, run: Run, plan: ResumePlan, definition: Definition, version: int) -> None:
    """As `resume`, of any run, where the caller enqueues the advance."""
    begun = tx.run(
        "begin_round",
        run_id=run.run_id,
        version=version,
        pins=Jsonb({**definitions.latest(tx, run.org_id, definition.workflows - run.pins.keys()), **run.pins}),
        nodes_left=len(plan.again),
        deadline=definition.deadline,
    )
    if not begun:
        raise Conflict("run_id: the run has not ended")
    before = definition
    if version != run.version and (stored := definitions.get(tx, run.org_id, run.workflow, run.version)):
        before = definition_of(stored.document)
    missing = node_rounds.begin(tx, run.run_id, run.round + 1, plan, before, definition)
    if missing:
        add_nodes(tx, run.run_id, run.org_id, definition, {name: plan.pending[name] for name in missing})
    tx.run("count_items_of_run", run_id=run.run_id)


def forget(tx: Transaction, *, older_than: timedelta = KEEP_FOR, batch: int) -> int:
    """Delete nodes, and then runs, of all orgs that ended long ago; returns how many, `batch` when more may be left."""
    old = [row.run_id for row in tx.run("list_old_runs", older_than=older_than, limit=batch)]
    nodes = len(tx.run("delete_nodes_of_runs", run_ids=old, limit=batch)) if old else 0
    gone = len(tx.run("delete_runs", run_ids=old)) if nodes < batch and old else 0
    return min(nodes + gone, batch)


def _run(row: Row) -> Run:
    return Run(**_values(row))


def _values(row: Row) -> dict[str, Any]:
    values: dict[str, Any] = row._asdict()
    return values | {"state": RunState(row.state), "actor_type": ActorType(row.actor_type)}
