"""What becomes of a node at its turn, of the items of a node, and of the run when its nodes have ended."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.payloads.workflows import LARGEST_INPUT
from domain.workflows.definition import (
    LONGEST_QUESTION,
    MOST_ITEMS,
    ApprovalWait,
    Definition,
    EventWait,
    Node,
    RunIf,
    UntilWait,
    WorkflowWork,
    read_until,
)
from domain.workflows.expressions import LARGEST_VALUE, Facts, evaluate, kind_of
from domain.workflows.joins import Need, NodeState, SkipReason, need_of
from domain.workflows.references import nodes_read


class NodeError(NamedTuple):
    """Why a node failed."""

    code: str
    reason: str


EXPRESSION = "expression"
"""The code of a node, or a run, whose expression failed or gave what does not fit."""
TOO_MANY_ITEMS = "too_many_items"
TIMEOUT = "timeout"
DENIED = "approval.denied"


class Skip(NamedTuple):
    """The node is skipped."""

    because: SkipReason


class Fail(NamedTuple):
    """The node, or an item, failed before its work began."""

    error: NodeError


class Succeed(NamedTuple):
    """The node has succeeded: its list of items is empty."""

    outputs: list[Any]


class Begin(NamedTuple):
    """A job begins with this payload, or a run with this input."""

    input: Any


class BeginItems(NamedTuple):
    """The node's work is done for each of these, from 1 to `MOST_ITEMS`."""

    items: list[Any]


class Ask(NamedTuple):
    """A person is asked."""

    question: str
    show: Any


class AwaitEvent(NamedTuple):
    """The node waits for an event of this name."""

    event: str


class Sleep(NamedTuple):
    """The node waits until then; a time that is over is over at once."""

    until: datetime


Turn = Skip | Fail | Succeed | Begin | BeginItems | Ask | AwaitEvent | Sleep


def nodes_read_by(node: Node) -> frozenset[str]:
    """Whose facts `take_turn` and `begin_item` need, by name: all are ancestors of the node."""
    asked = (node.work.question, node.work.show) if isinstance(node.work, ApprovalWait) else ()
    until = (node.work.until,) if isinstance(node.work, UntilWait) else ()
    return nodes_read(node.when, node.for_each, node.with_, *asked, *until)


def take_turn(node: Node, facts: Facts, now: datetime, *, room: int = MOST_ITEMS) -> Turn:
    """What becomes of a node whose join says `Answer.RUN`. Its `when` and its `for_each` are evaluated here, once.

    `room` is how many items its run may have besides those that it has.
    """
    try:
        if node.when is not None and not _is_true(node.when, facts):
            return Skip(SkipReason.WHEN)
        return _items(node, facts, room) if node.has_items else _begin(node, facts, now)
    except Invalid as refused:
        return _failed(refused)


def begin_item(node: Node, facts: Facts, item: Any, index: int) -> Begin | Fail:  # noqa: ANN401 - JSON
    """What an item of a node begins with."""
    try:
        return Begin(_input(node, {**facts, "item": item, "index": index}))
    except Invalid as refused:
        return _failed(refused)


def _failed(refused: Invalid) -> Fail:
    return Fail(NodeError(EXPRESSION, refused.reason))


def _is_true(when: str, facts: Facts) -> bool:
    found = evaluate("when", when, facts)
    if not isinstance(found, bool):
        raise Invalid("when", f"must give true or false, and gives {kind_of(found)}")
    return found


def _items(node: Node, facts: Facts, room: int) -> BeginItems | Succeed | Fail:
    items = evaluate("for_each", node.for_each, facts)
    if not isinstance(items, list):
        raise Invalid("for_each", f"must give a list, and gives {kind_of(items)}")
    if len(items) > room:
        before = f" beside the {MOST_ITEMS - room} that it has" if room < MOST_ITEMS else ""
        reason = f"for_each: gives {len(items)} items, and a run has {MOST_ITEMS} at most{before}"
        return Fail(NodeError(TOO_MANY_ITEMS, reason))
    return BeginItems(items) if items else Succeed([])


def _begin(node: Node, facts: Facts, now: datetime) -> Begin | Ask | AwaitEvent | Sleep:
    match node.work:
        case ApprovalWait(question, show):
            asked = evaluate("wait.approval", question, facts)
            if not isinstance(asked, str) or not 0 < len(asked) <= LONGEST_QUESTION:
                raise Invalid("wait.approval", f"must give a text of 1 to {LONGEST_QUESTION} characters")
            return Ask(asked, evaluate("wait.show", show, facts))
        case EventWait(event):
            return AwaitEvent(event)
        case UntilWait(until):
            return Sleep(_instant(evaluate("wait.until", until, facts), now))
        case _:
            return Begin(_input(node, facts))


def _input(node: Node, facts: Facts) -> Any:  # noqa: ANN401 - JSON
    most = LARGEST_INPUT if isinstance(node.work, WorkflowWork) else LARGEST_PAYLOAD
    return evaluate("with", node.with_, facts, most=most)


def _instant(found: object, now: datetime) -> datetime:
    try:
        until = read_until(found)
        return now + until if isinstance(until, timedelta) else until
    except ValueError as error:
        raise Invalid("wait.until", str(error)) from None


def items_to_begin(node: Node, *, total: int, begun: int, ended: int) -> int:
    """How many further items begin: never more than `limit` are at work."""
    free = total if node.limit is None else node.limit - (begun - ended)
    return max(0, min(total - begun, free))


def end_of_items(*, failed: int, canceled: int) -> NodeState:
    """How a node has ended whose items all have."""
    if canceled:
        return NodeState.CANCELED
    return NodeState.FAILED if failed else NodeState.SUCCEEDED


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class RunStop(StrEnum):
    """Why the rest of a run was canceled."""

    CANCELED = "canceled"
    """By a person, or with the run that is around it."""
    DEADLINE = "deadline"
    """Its time was over, or the job died that was to begin it."""


class NodeEnd(NamedTuple):
    """Where a node stands, as the run's end and a resume look at it."""

    state: NodeState
    skipped_because: SkipReason | None = None
    error: NodeError | None = None


class RunFailure(NamedTuple):
    """Why a run failed."""

    code: str
    reason: str
    nodes: tuple[str, ...] = ()
    """The failed nodes that no node with `run_if: failed` has dealt with."""


OVER_TIME = RunFailure("deadline", "the time of the run was over before all of its nodes had ended")


class RunEnd(NamedTuple):
    """How a run has ended."""

    state: RunState
    failure: RunFailure | None = None
    output: Any = None


def nodes_read_at_end(definition: Definition) -> frozenset[str]:
    """Whose facts `end_run` needs, by name."""
    return nodes_read(definition.output)


def end_run(
    definition: Definition,
    ends: Mapping[str, NodeEnd],
    facts: Facts,
    stop: RunStop | None = None,
    stopped_by: RunFailure = OVER_TIME,
) -> RunEnd | None:
    """How a run has ended; None while a node has not. The output is evaluated here, once.

    `stopped_by` is the failure of a run whose rest was canceled and by nobody.
    """
    if not all(end.state.final for end in ends.values()):
        return None
    if any(end.state is NodeState.CANCELED for end in ends.values()):
        return RunEnd(RunState.FAILED, stopped_by) if stop is RunStop.DEADLINE else RunEnd(RunState.CANCELED)
    failed = unhandled(definition, ends)
    if failed:
        return RunEnd(RunState.FAILED, _failure(failed, ends[failed[0]].error))
    try:
        return RunEnd(RunState.SUCCEEDED, output=evaluate("output", definition.output, facts, most=LARGEST_VALUE))
    except Invalid as refused:
        return RunEnd(RunState.FAILED, RunFailure(EXPRESSION, refused.reason))


def _failure(failed: tuple[str, ...], error: NodeError | None) -> RunFailure:
    code, reason = error or NodeError("failure", "failed")
    more = f" (and {len(failed) - 1} more nodes failed)" if len(failed) > 1 else ""
    return RunFailure(code, f"{failed[0]}: {reason}{more}", failed)


def unhandled(definition: Definition, ends: Mapping[str, NodeEnd]) -> tuple[str, ...]:
    """The failed nodes whose failure has led to no node with `run_if: failed` that succeeded."""
    handled: set[str] = set()
    handlers = (node for node in definition.nodes.values() if node.run_if is RunIf.FAILED)
    left = [need for node in handlers if ends[node.name].state is NodeState.SUCCEEDED for need in node.needs]
    while left:
        name = left.pop()
        state, because, _ = ends[name]
        if name not in handled and need_of(state, because) is Need.FAILED:
            handled.add(name)
            node = definition.nodes[name]
            if state is NodeState.SKIPPED or node.run_if is RunIf.FAILED:
                left += node.needs  # it has not run, or was to deal with a failure itself
    return tuple(name for name in definition.nodes if ends[name].state is NodeState.FAILED and name not in handled)
