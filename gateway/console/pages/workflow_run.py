"""A run of a workflow: its graph with how each node stands, what it waits for, and a node with what it gave."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from domain.workflows.joins import NodeState
from gateway.console.derived import Step, done_of, steps_of_thing, values_href
from gateway.console.frame import VALUES, reading_call
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import id_of
from gateway.console.shown import Table, columns_of, document_of, entries_of, line_of
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

TONES = {"succeeded": "good", "failed": "bad", "canceled": "", "waiting": "warn"}


def fill(look: Look) -> Mapping[str, Any]:
    """The run that the address names, and the node of it that was chosen."""
    run_id = id_of(look.asked, "run_id")
    run = look.call(show_run, run_id)
    node_page = partial(_node_page, look, run)
    picture = draw_run(reading_call(look.request, look.frame.visitor, look.frame.org_id), run_id, node_page)
    things = look.frame.things
    return {
        "run": run,
        "standing": _standing(run),
        "tone": TONES.get(run.state, "busy"),
        "picture": Markup(picture),  # noqa: S704 - SVG in which each text is escaped
        "waits": [wait for one in run.nodes if (wait := _wait(look, run, one)) is not None],
        "nodes": _nodes(look, run),
        "node": _node(look, run) if "node" in look.asked else None,
        "entries": [one for one in entries_of(run, things) if one.name != "nodes"],
        "steps": steps_of_thing(look.frame, show_run, run, {"run_id": str(run_id)}),
        "done": done_of(look.request, show_run),
        "values_href": values_href(look.request, look.frame, show_run),
        # A look at values is audited: it is not repeated every few seconds.
        "is_live": run.finished_at is None and VALUES not in look.request.query_params,
    }


def _nodes(look: Look, run: WorkflowRunView) -> Table:
    """The nodes themselves; the items of a node are on its own page."""
    lines = [line_of(one, look.frame.things, _node_page(look, run, one.node)) for one in run.nodes]
    return Table(columns_of(RunNodeLine), lines).without("item")


def _node_page(look: Look, run: WorkflowRunView, node: str) -> str:
    return look.frame.things.page(show_run, {"run_id": run.run_id, "node": node}, run.org_id)


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


def _wait(look: Look, run: WorkflowRunView, one: RunNodeLine) -> tuple[str, Step | None] | None:
    """What a node waits for, and the page where somebody can end the waiting."""
    if one.state is not NodeState.WAITING:
        return None
    until = f" until {one.wait_until:%Y-%m-%d %H:%M} UTC" if one.wait_until else ""
    page = partial(look.frame.things.page, of_org=run.org_id)
    if one.approval_id is not None:
        decide = Step("Decide", page(read_approval, {"approval_id": one.approval_id}))
        return f"{one.node} asks a person{until}", decide
    if one.wait_name is not None:
        send = Step("Send event", page(send_event, {"run_id": run.run_id, "name": one.wait_name}))
        return f"{one.node} waits for the event {one.wait_name}{until}", send if look.may(send_event) else None
    return f"{one.node} waits{until}", None


def _node(look: Look, run: WorkflowRunView) -> Mapping[str, Any]:
    """The node that was chosen."""
    given = {"run_id": str(run.run_id), **{name: look.asked[name] for name in ("node", "item") if name in look.asked}}
    found = look.call(show_node, **checked(show_node.parameters, given))
    things, at = look.frame.things, {"run_id": run.run_id, "node": found.node}
    order = {"state": 0, "input": 1, "output": 2, "error": 3, "job_id": 4}
    return {
        "name": str(document_of(found)["node"]),
        "entries": sorted(entries_of(found, things), key=lambda one: order.get(one.name.replace(" ", "_"), 9)),
        "items_href": things.page(list_items, at, run.org_id) if found.items_total is not None else None,
        "values_href": values_href(look.request, look.frame, show_node),
    }


WORKFLOW_RUN = HandPage(
    path="workflows/show", title="Workflow run", fill=fill, asks=("run_id", "node", "item"), needs=show_run
)
