"""Runs of workflows: started, looked at, sent events, canceled, resumed, drawn."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field

from domain.clean_text import UNSTORABLE, clean_text
from domain.jobs.contract import Instant, check_text
from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import ActorType, JsonObject
from domain.jobs.nesting import MOST_LEVELS, nests_too_deep
from domain.orgs.access.api_keys import Role
from domain.payloads.workflows import RunInput, RunPayload, WorkflowName
from domain.workflows.advance import RunState
from domain.workflows.definition import EVENT_NAME, definition_of
from domain.workflows.inputs import InputCheck
from domain.workflows.joins import NodeState
from domain.workflows.picture import BoxCounts, NodeStatus, draw
from domain.workflows.references import texts_in
from operations.call import Call
from operations.operation import Reason, Record, Route
from operations.pages import Page, Window
from operations.workflows.definitions import WORKFLOWS, Version, found_definition
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.workflows import nodes, resuming, runs, waits
from storage.workflows.nodes import THE_NODE
from storage.workflows.runs import NewRun, Run

NO_REASON = "no reason was given"
NodeName = Annotated[str, Field(max_length=63, description="The node's name in the definition.")]
EventName = Annotated[str, Field(pattern=EVENT_NAME)]


def _storable(given: JsonObject) -> JsonObject:
    if nests_too_deep(given):
        raise ValueError(f"nests more than {MOST_LEVELS} levels deep")
    if any(clean_text(text) != text for _, text in texts_in(given, keys=True)):
        raise ValueError(UNSTORABLE)
    return given


Given = Annotated[RunInput, AfterValidator(_storable)]
"""An object that somebody gives to a run: at most 64 KB of JSON."""


class StartedRun(Record):
    """A run that a job begins, which has the same id."""

    run_id: UUID
    org_id: UUID
    workflow: str


class WorkflowRunLine(Record):
    """A run in a list."""

    plural: ClassVar = "runs"
    columns: ClassVar = ("run_id", "workflow", "version", "state", "round", "created_at", "finished_at", "failure")
    run_id: UUID
    org_id: UUID
    project_id: UUID | None
    workflow: str
    version: int
    state: RunState
    failure: JsonObject | None = Field(description="`code`, `reason`, and the `nodes` that led to it.")
    round: int = Field(description="1, and one more with each resume.")
    nodes_left: int = Field(description="Nodes that have not ended.")
    items: int = Field(description="Items of all its nodes with `for_each`.")
    deadline_at: datetime | None
    parent_run: UUID | None = Field(description="The run of whose node it is.")
    depth: int
    cost_microcents: int = Field(description="Of the jobs of its nodes, in millionths of a cent.")
    created_at: datetime
    resumed_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    actor_type: ActorType
    actor_id: str


class RunNodeLine(Record):
    """Where a node of a run stands, or an item of a node."""

    plural: ClassVar = "nodes"
    columns: ClassVar = ("node", "item", "state", "round", "job_id", "started_at", "finished_at", "error")
    node: str
    item: int = Field(description="-1 is the node itself; its items count from 0.")
    state: NodeState
    job_id: UUID | None
    child_run: UUID | None
    error: JsonObject | None
    output_refused: str | None = Field(description="Why there is no output though the node has succeeded.")
    skipped_because: str | None
    wait_name: str | None = Field(description="The event that it waits for.")
    wait_until: datetime | None
    approval_id: UUID | None = Field(description="By which `approvals` decide about it.")
    items_total: int | None
    items_started: int | None
    items_done: int | None
    items_failed: int | None
    items_canceled: int | None
    round: int
    cost_microcents: int
    started_at: datetime | None
    finished_at: datetime | None


class WorkflowRunView(WorkflowRunLine):
    """A run with its nodes, of which each is shown without what it was given and gave."""

    values: ClassVar = ("input", "output")
    input: JsonObject
    output: Any
    parent_node: str | None
    parent_item: int | None
    cancel_reason: str | None
    nodes: list[RunNodeLine]


class RunNodeView(RunNodeLine):
    """A node of a run, or an item, with what it was given and what it gave."""

    values: ClassVar = ("input", "output")
    input: Any
    output: Any


class RunEventView(Record):
    """An event that was sent to a run."""

    values: ClassVar = ("payload",)
    plural: ClassVar = "events"
    columns: ClassVar = ("event_id", "name", "at", "sent_by", "taken_by_node")
    event_id: UUID
    run_id: UUID
    name: str
    payload: Any
    sent_by: str
    at: datetime
    taken_by_node: str | None = Field(description="Null as long as no node has waited for it.")


class SentEvent(Record):
    """An event that a run keeps until a node of it waits for it."""

    event_id: UUID
    run_id: UUID
    name: str


class FailedRun(BaseModel):
    """A run that is to be resumed, and its place in the order in which runs failed."""

    finished_at: datetime
    run_id: UUID


class ResumedRun(Record):
    """Whether a run was resumed."""

    plural: ClassVar = "runs"
    run_id: UUID
    round: int | None = Field(description="The round that has begun; null where it was refused.")
    refused: str | None = Field(description="Why it was refused.")


@WORKFLOWS.deed(
    "run",
    Route("POST", "/workflows/runs", location="/v1/workflows/runs/{run_id}", status=202),
    role=Role.WRITER,
    org="required",
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def start_run(
    call: Call,
    workflow: WorkflowName,
    *,
    version: Version = None,
    input: Annotated[Given | None, Field(description="As the workflow's schema has it.")] = None,  # noqa: A002 - the field's name
    project_id: Annotated[UUID | None, Field(description="The project that its jobs belong to.")] = None,
) -> StartedRun:
    """Start a run by the version that is the latest now, or named. A job with the run's id takes up its first nodes.

    The run can be looked at, sent events and canceled from the answer on. Who cancels the job cancels the run.
    """
    with call.writing() as tx:

        def make() -> Sequence[UUID]:
            stored = found_definition(tx, call.org, workflow, version)
            definition, given = definition_of(stored.document), input or {}
            InputCheck(definition.input_schema).check(given)
            payload = RunPayload(workflow=workflow, version=stored.version, input=given)
            (made,) = call.enqueue(tx, payload, org_id=call.org, origin=call.origin, project_id=project_id)
            new = NewRun(made.job_id, call.org, project_id, stored.version, given)
            runs.begin(tx, new, definition, by=call.origin)
            return [made.job_id]

        (run_id,) = call.once(tx, make)
    return StartedRun(run_id=run_id, org_id=call.org, workflow=workflow)


@WORKFLOWS.look("runs", Route("GET", "/workflows/runs"), org="required")
def list_workflow_runs(  # noqa: PLR0913 - one parameter per filter
    call: Call,
    window: Window,
    *,
    workflow: Annotated[WorkflowName | None, Field(description="Only of this workflow.")] = None,
    state: Annotated[list[RunState] | None, Field(max_length=len(RunState), description="Only these states.")] = None,
    since: Annotated[AwareDatetime | None, Field(description="Started then or later.")] = None,
    before: Annotated[AwareDatetime | None, Field(description="Started earlier than that.")] = None,
    parent_run: Annotated[
        UUID | None,
        Field(description="Only those of this run's nodes, which are not listed otherwise."),
    ] = None,
) -> Page[WorkflowRunLine]:
    """List an org's runs, the newest first."""
    wanted = {"workflow": workflow, "states": state, "since": since, "before": before, "parent_run": parent_run}
    with call.reading() as tx:
        return window.records(tx, "list_runs", WorkflowRunLine, org_id=call.org, **wanted)


@WORKFLOWS.look("show", Route("GET", "/workflows/runs/{run_id}"))
def show_run(call: Call, run_id: UUID) -> WorkflowRunView:
    """Show a run with its nodes."""
    with call.reading() as tx:
        run = _found(tx, call, run_id)
        found = nodes.listed(tx, run_id)
    lines = [RunNodeLine.model_validate(one) for one in found]
    facts = {name: getattr(run, name) for name in WorkflowRunView.model_fields if name != "nodes"}
    return WorkflowRunView(**facts, nodes=lines)


@WORKFLOWS.look("node", Route("GET", "/workflows/runs/{run_id}/nodes/{node}"))
def show_node(
    call: Call,
    run_id: UUID,
    node: NodeName,
    *,
    item: Annotated[
        int, Field(ge=THE_NODE, le=9_999, description="The item's number; without it, the node.")
    ] = THE_NODE,
) -> RunNodeView:
    """Show a node of a run, or one of its items, with what it was given and what it gave."""
    with call.reading() as tx:
        _found(tx, call, run_id)
        found = nodes.get(tx, run_id, node, item)
    if found is None:
        raise Gone(f"the run has no node {node}" + (f" with an item {item} that has begun" if item >= 0 else ""))
    return RunNodeView.model_validate(found)


@WORKFLOWS.look("items", Route("GET", "/workflows/runs/{run_id}/nodes/{node}/items"))
def list_items(call: Call, run_id: UUID, node: NodeName, window: Window) -> Page[RunNodeLine]:
    """List the items of a node that have begun, by their numbers."""
    with call.reading() as tx:
        _found(tx, call, run_id)
        return window.records(tx, "list_nodes", RunNodeLine, run_id=run_id, of_node=node)


@WORKFLOWS.look("events", Route("GET", "/workflows/runs/{run_id}/events"))
def list_run_events(call: Call, run_id: UUID, window: Window) -> Page[RunEventView]:
    """List the events that a run was sent, in the order in which they came."""
    with call.reading() as tx:
        _found(tx, call, run_id)
        return window.records(tx, "list_events", RunEventView, run_id=run_id)


@WORKFLOWS.deed(
    "signal",
    Route("POST", "/workflows/runs/{run_id}/events/{name}", status=201),
    role=Role.WRITER,
    events=("workflow.signaled",),
    keyed=True,
)
def send_event(
    call: Call,
    run_id: UUID,
    name: EventName,
    *,
    payload: Annotated[Given | None, Field(description="What the node that waits gives as its output.")] = None,
) -> SentEvent:
    """Send an event to a run. One that comes before its node waits is kept; each is taken once, the oldest first."""
    with call.writing() as tx:
        found = _found(tx, call, run_id)

        def make() -> Sequence[UUID]:
            event_id = waits.send_event(tx, run_id, name, payload or {}, by=call.name)
            facts = {"run_id": str(run_id), "workflow": found.workflow, "name": name, "event_id": str(event_id)}
            call.audit(tx, found.org_id, facts, project_id=found.project_id)
            return [event_id]

        (event_id,) = call.once(tx, make)
    return SentEvent(event_id=event_id, run_id=run_id, name=name)


@WORKFLOWS.deed(
    "cancel",
    Route("POST", "/workflows/runs/{run_id}/cancel", status=202),
    role=Role.WRITER,
    events=("workflow.cancel_requested",),
)
def cancel_run(call: Call, run_id: UUID, *, reason: Reason = None) -> WorkflowRunLine:
    """Cancel a run with the jobs and the runs of its nodes; it has ended when these have. Refused once it has ended."""
    why = NO_REASON if reason is None else check_text("reason", reason)
    with call.writing() as tx:
        found = _found(tx, call, run_id)
        if not runs.request_cancel(tx, run_id, why):
            raise Conflict(f"run_id: the run has ended: {found.state}")
        call.audit(tx, found.org_id, {**_facts(found), "reason": why}, project_id=found.project_id)
        return WorkflowRunLine.model_validate(_found(tx, call, run_id))


@WORKFLOWS.deed("resume", Route("POST", "/workflows/runs/{run_id}/resume", status=202), events=("workflow.resumed",))
def resume_run(call: Call, run_id: UUID, *, version: Version = None) -> WorkflowRunLine:
    """Do again what failed or was canceled in a run that has ended, and what comes after it; the rest is kept.

    With another version, every node that is kept must be the same there: refused with those that are not.
    """
    with call.writing() as tx:
        return WorkflowRunLine.model_validate(_resume(tx, call, run_id, version))


@WORKFLOWS.deed(
    "resume-failed", Route("POST", "/workflows/resume-failed"), org="required", events=("workflow.resumed",)
)
def resume_failed_runs(
    call: Call,
    window: Window,
    *,
    workflow: Annotated[WorkflowName, Field(description="Whose runs.")],
    failed_since: Annotated[Instant, Field(description="Those that failed then or later.")],
    version: Version = None,
) -> Page[ResumedRun]:
    """Resume the failed runs of a workflow, those that failed first before the others, a page of them at a time.

    Each goes on by a job of its own, behind what waits in the queues. One that is refused keeps no other back.
    """
    asked = {"org_id": call.org, "workflow": workflow, "since": failed_since}
    with call.reading() as tx:
        failed = window.records(tx, "list_failed_runs", FailedRun, **asked)
    return Page([_attempt(call, one.run_id, version) for one in failed.items], failed.next_cursor)


def draw_run(call: Call, run_id: UUID, page_of: Callable[[str], str] | None = None) -> str:
    """A run as a picture: its definition, and how each node stands; each may lead to its page. As SVG."""
    call.begin(Role.READER, (), is_audited=True, of_org=True)
    with call.reading() as tx:
        run = _found(tx, call, run_id)
        stored = found_definition(tx, run.org_id, run.workflow, run.version)
        found = nodes.listed(tx, run_id)
    return draw(definition_of(stored.document), {one.node: _status(one) for one in found}, page_of)


def draw_workflow(call: Call, name: str, version: int | None) -> str:
    """A version of a workflow as a picture, of which no run is known. As SVG."""
    call.begin(Role.READER, (), is_audited=True, of_org=True)
    with call.reading() as tx:
        stored = found_definition(tx, call.org, name, version)
    return draw(definition_of(stored.document))


def _found(tx: Transaction, call: Call, run_id: UUID) -> Run:
    return call.found(runs.get(tx, run_id), f"run {run_id}")


def _facts(run: Run) -> JsonObject:
    """What the audit log says of a run."""
    return {"run_id": str(run.run_id), "workflow": run.workflow, "version": run.version}


def _resume(tx: Transaction, call: Call, run_id: UUID, version: int | None) -> Run:
    _found(tx, call, run_id)
    resumed = resuming.resume(tx, run_id, version)
    call.audit(tx, resumed.org_id, {**_facts(resumed), "round": resumed.round}, project_id=resumed.project_id)
    return resumed


def _attempt(call: Call, run_id: UUID, version: int | None) -> ResumedRun:
    """Resume one of several runs, in a transaction of its own."""
    try:
        with call.writing() as tx:
            return ResumedRun(run_id=run_id, round=_resume(tx, call, run_id, version).round, refused=None)
    except (Conflict, Gone, Invalid) as refused:
        return ResumedRun(run_id=run_id, round=None, refused=refused.reason)


def _status(one: Row) -> NodeStatus:
    state = NodeState(one.state)
    if one.items_total is None:
        return NodeStatus(state)
    ended = sum(count or 0 for count in (one.items_done, one.items_failed, one.items_canceled))
    return NodeStatus(state, BoxCounts(one.items_total, ended, one.items_failed or 0))
