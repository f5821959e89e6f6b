"""What becomes of a node at its turn, of the items of a node, and of the run when its nodes have ended."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from domain.workflows.definition import Definition, Node
from domain.workflows.expressions import Facts
from domain.workflows.joins import NodeState, SkipReason


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
    raise NotImplementedError


def take_turn(node: Node, facts: Facts, now: datetime) -> Turn:
    """What becomes of a node whose join says `Answer.RUN`. Its `when` and its `for_each` are evaluated here, once."""
    raise NotImplementedError


def begin_item(node: Node, facts: Facts, item: Any, index: int) -> Begin | Fail:  # noqa: ANN401 - JSON
    """What an item of a node begins with."""
    raise NotImplementedError


def items_to_begin(node: Node, *, total: int, begun: int, ended: int) -> int:
    """How many further items begin: never more than `limit` are at work."""
    raise NotImplementedError


def end_of_items(*, failed: int, canceled: int) -> NodeState:
    """How a node has ended whose items all have."""
    raise NotImplementedError


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


class Stop(StrEnum):
    """Why the rest of a run was canceled."""

    CANCELED = "canceled"
    """By a person, or with the run that is around it."""
    DEADLINE = "deadline"


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


class RunEnd(NamedTuple):
    """How a run has ended."""

    state: RunState
    failure: RunFailure | None = None
    output: Any = None


def nodes_read_at_end(definition: Definition) -> frozenset[str]:
    """Whose facts `end_run` needs, by name."""
    raise NotImplementedError


def end_run(
    definition: Definition, ends: Mapping[str, NodeEnd], facts: Facts, stop: Stop | None = None
) -> RunEnd | None:
    """How a run has ended; None while a node has not."""
    raise NotImplementedError


def unhandled(definition: Definition, ends: Mapping[str, NodeEnd]) -> tuple[str, ...]:
    """The failed nodes whose failure has led to no node with `run_if: failed` that succeeded."""
    raise NotImplementedError
