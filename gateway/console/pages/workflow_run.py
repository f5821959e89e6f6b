"""A run of a workflow: its graph with how each node stands, what it waits for, and a node with what it gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from domain.jobs.failures import Invalid
from domain.workflows.joins import NodeState
from gateway.console.derived import Step, done_of, steps_of_thing, values_href
from gateway.console.frame import VALUES, reading_call
from gateway.console.pages import HandPage, Look
from gateway.console.shown import Entry, Line, Table, columns_of, document_of, entries_of, line_of
from operations.approvals.approvals import read_approval
from operations.operation import checked
from operations.workflows.runs import (
    RunNodeLine,
    WorkflowRunView,
    draw_run,
    list_items,
    send_event,
    show_node,
    show_run,
)


@dataclass(frozen=True, slots=True)
class NodeWait:
    """What a node waits for, and the page where somebody can end the waiting."""

    words: str
    href: str | None
    deed: str = ""


@dataclass(frozen=True, slots=True)
class NodeShown:
    """The node that was chosen."""

    name: str
    entries: Sequence[Entry]
    items_href: str | None
    values_href: str | None


@dataclass(frozen=True, slots=True)
class WorkflowRunShown:
    """What the page of a run shows."""

    run: WorkflowRunView
    standing: str
    tone: str
    picture: Markup
    waits: Sequence[NodeWait]
    nodes: Table
    node: NodeShown | None
    entries: Sequence[Entry]
    steps: Sequence[Step]
    done: str | None
    values_href: str | None
    is_live: bool


TONES = {"succeeded": "good", "failed": "bad", "canceled": "", "waiting": "warn"}


def fill(look: Look) -> WorkflowRunShown:
    """The run that the address names, and the node of it that was chosen."""
    if "run_id" not in look.asked:
        raise Invalid("run_id", "name the run; the list of runs has all of them")
    run_id = checked(show_run.parameters, {"run_id": look.asked["run_id"]})["run_id"]
    run = look.call(show_run, run_id)
    node_page = partial(_node_page, look, run)
    picture = draw_run(reading_call(look.request, look.frame.visitor, look.frame.org_id), run_id, node_page)
    things = look.frame.things
    return WorkflowRunShown(
        run,
        _standing(run),
        TONES.get(run.state, "busy"),
        Markup(picture),  # noqa: S704 - SVG in which each text is escaped
        [wait for one in run.nodes if (wait := _wait(look, run, one)) is not None],
        Table(columns_of(RunNodeLine), [_line(look, one, node_page(one.node)) for one in run.nodes]),
        _node(look, run) if "node" in look.asked else None,
        [one for one in entries_of(run, things) if one.name != "nodes"],
        steps_of_thing(look.frame, show_run, run, {"run_id": str(run_id)}),
        done_of(look.request, show_run),
        values_href(look.request, look.frame, show_run),
        # A look at values is audited: it is not repeated every few seconds.
        run.finished_at is None and VALUES not in look.request.query_params,
    )


def _node_page(look: Look, run: WorkflowRunView, node: str) -> str:
    return look.frame.things.page(show_run, {"run_id": run.run_id, "node": node}, run.org_id)


def _line(look: Look, one: RunNodeLine, href: str) -> Line:
    return line_of(one, look.frame.things, href)


def _standing(run: WorkflowRunView) -> str:
    """How the run is, in a sentence."""
    left = f"{run.nodes_left} of {len(run.nodes)} nodes have not ended"
    if run.failure is not None and run.finished_at is not None:
        said = f"It {run.state}: {run.failure.get('reason') or run.failure.get('code')}."
        return f"{said} Resume does again what failed and what comes after it; the rest is kept."
    if run.finished_at is not None:
        return f"It {'was ' if run.state == 'canceled' else 'has '}{run.state}."
    if run.cancel_requested_at is not None:
        return f"It is being canceled: {left}."
    if any(one.state is NodeState.WAITING for one in run.nodes):
        return f"It waits: {left}."
    return f"It runs: {left}."


def _wait(look: Look, run: WorkflowRunView, one: RunNodeLine) -> NodeWait | None:
    if one.state is not NodeState.WAITING:
        return None
    until = f" until {one.wait_until:%Y-%m-%d %H:%M} UTC" if one.wait_until else ""
    page = partial(look.frame.things.page, of_org=run.org_id)
    if one.approval_id is not None:
        return NodeWait(
            f"{one.node} asks a person{until}", page(read_approval, {"approval_id": one.approval_id}), "Decide"
        )
    if one.wait_name is not None:
        words = f"{one.node} waits for the event {one.wait_name}{until}"
        may = look.may(send_event)
        return NodeWait(
            words, page(send_event, {"run_id": run.run_id, "name": one.wait_name}) if may else None, "Send event"
        )
    return NodeWait(f"{one.node} waits{until}", None)


def _node(look: Look, run: WorkflowRunView) -> NodeShown:
    given = {"run_id": str(run.run_id), **{name: look.asked[name] for name in ("node", "item") if name in look.asked}}
    found = look.call(show_node, **checked(show_node.parameters, given))
    things, at = look.frame.things, {"run_id": run.run_id, "node": found.node}
    items = things.page(list_items, at, run.org_id) if found.items_total is not None else None
    order = {"state": 0, "input": 1, "output": 2, "error": 3, "job_id": 4}
    entries = sorted(entries_of(found, things), key=lambda one: order.get(one.name.replace(" ", "_"), 9))
    return NodeShown(str(document_of(found)["node"]), entries, items, values_href(look.request, look.frame, show_node))


WORKFLOW_RUN = HandPage(
    path="workflows/show",
    title="Workflow run",
    shown=WorkflowRunShown,
    fill=fill,
    asks=("run_id", "node", "item"),
    needs=show_run,
)
