"""Whether a node runs, by how its needs ended; all rules wait for the last (docs: workflow-definitions.md#joins).

A failure reaches past nodes that did not run because of it: at the end of a chain, a node with `run_if: failed` runs
whichever node of the chain failed, and a join with `run_if: not_failed` does not take a broken branch for one that was
not chosen.
"""

from collections.abc import Iterable
from enum import Enum, StrEnum, auto

from domain.workflows.definition import RunIf


class NodeState(StrEnum):
    """Where a node of a run stands, and an item of a node that has items."""

    PENDING = "pending"
    """Its work has not begun."""
    RUNNING = "running"
    """Its job, its run or one of its items is under way."""
    WAITING = "waiting"
    """For a person, an event or a time."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELED = "canceled"
    """The run was canceled, or its time was over, before the node had ended."""

    @property
    def final(self) -> bool:
        """Whether the node has ended."""
        return self in FINAL


FINAL = frozenset({NodeState.SUCCEEDED, NodeState.FAILED, NodeState.SKIPPED, NodeState.CANCELED})


class SkipReason(StrEnum):
    """Why a node did not run."""

    WHEN = "when"
    """Its `when` gave false."""
    UPSTREAM_SKIPPED = "upstream_skipped"
    UPSTREAM_FAILED = "upstream_failed"
    UPSTREAM_CANCELED = "upstream_canceled"
    NOTHING_FAILED = "nothing_failed"
    """It runs after a failure only."""


class Need(Enum):
    """How a need looks to the node that has it."""

    OPEN = auto()
    """It has not ended."""
    SUCCEEDED = auto()
    FAILED = auto()
    """It failed, or did not run because a node before it failed."""
    SKIPPED = auto()
    CANCELED = auto()
    """It was canceled, or did not run because a node before it was."""


class JoinAnswer(Enum):
    """What a join says when the node is not skipped."""

    WAIT = auto()
    RUN = auto()


Verdict = JoinAnswer | SkipReason

_BY_STATE = {
    NodeState.SUCCEEDED: Need.SUCCEEDED,
    NodeState.FAILED: Need.FAILED,
    NodeState.SKIPPED: Need.SKIPPED,
    NodeState.CANCELED: Need.CANCELED,
}
_BY_REASON = {SkipReason.UPSTREAM_FAILED: Need.FAILED, SkipReason.UPSTREAM_CANCELED: Need.CANCELED}


def need_of(state: NodeState, skipped_because: SkipReason | None = None) -> Need:
    """How a node in that state looks to those after it."""
    if state is NodeState.SKIPPED and skipped_because in _BY_REASON:
        return _BY_REASON[skipped_because]
    return _BY_STATE.get(state, Need.OPEN)


def verdict(run_if: RunIf, needs: Iterable[Need]) -> Verdict:
    """Whether a node waits, runs or is skipped, and why it is."""
    ends = frozenset(needs)
    if Need.OPEN in ends:
        return JoinAnswer.WAIT
    if run_if is RunIf.DONE:
        return JoinAnswer.RUN
    if run_if is RunIf.FAILED:
        return JoinAnswer.RUN if Need.FAILED in ends else SkipReason.NOTHING_FAILED
    if Need.FAILED in ends:
        return SkipReason.UPSTREAM_FAILED
    if Need.CANCELED in ends:
        return SkipReason.UPSTREAM_CANCELED
    chosen = Need.SUCCEEDED in ends if run_if is RunIf.NOT_FAILED else Need.SKIPPED not in ends
    return JoinAnswer.RUN if chosen else SkipReason.UPSTREAM_SKIPPED
