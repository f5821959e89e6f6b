"""A run as the engine keeps it: rows, counters and short advances, in any interleaving, decided by the rules alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from domain.workflows.advance import (
    Begin,
    BeginItems,
    Fail,
    NodeEnd,
    NodeError,
    RunEnd,
    Skip,
    Stop,
    Succeed,
    begin_item,
    end_of_items,
    end_run,
    items_to_begin,
    nodes_read_by,
    take_turn,
)
from domain.workflows.definition import Definition
from domain.workflows.expressions import NodeFacts, facts_of
from domain.workflows.joins import Answer, NodeState, SkipReason, need_of, verdict
from domain.workflows.resume import Differing, Redo, plan_resume

NOW = datetime(2026, 11, 27, tzinfo=UTC)
RUN = {"id": "r", "workflow": "random", "version": 1, "round": 1, "created_at": "2026-11-27T00:00:00Z"}
Outcome = Callable[[str, int], bool]
"""Whether the work of a node's item succeeds; item 0 of a node without items."""


@dataclass
class Item:
    """An item of a node that has them."""

    value: Any
    state: NodeState = NodeState.READY


@dataclass
class Row:
    """A node of the run."""

    pending: int
    state: NodeState = NodeState.PENDING
    because: SkipReason | None = None
    error: NodeError | None = None
    output: Any = None
    counted: bool = False
    items: list[Item] = field(default_factory=list)
    begun: int = 0
    """How often its work began, over all rounds."""


class SimulatedRun:
    """A run that is taken further by one random move after the other."""

    def __init__(self, definition: Definition, given: Mapping[str, Any], chance: Random) -> None:
        self.definition, self._given, self._chance = definition, given, chance
        self.rows = {name: Row(len(node.needs)) for name, node in definition.nodes.items()}
        self.end: RunEnd | None = None
        self.stop: Stop | None = None

    def play(self, outcome: Outcome) -> RunEnd:
        """Make moves until none is left; the run has ended then, or it would stand still for ever."""
        self.move(outcome)
        self.end = end_run(self.definition, self.ends(), self._facts(), self.stop)
        assert self.end is not None, "a run with nothing to wait for has ended"
        return self.end

    def move(self, outcome: Outcome, most: int | None = None) -> None:
        """Make so many moves, or all that there are."""
        while (most is None or most > 0) and (moves := list(self._moves(outcome))):
            self._chance.choice(moves)()
            most = None if most is None else most - 1

    def ends(self) -> dict[str, NodeEnd]:
        return {name: NodeEnd(row.state, row.because, row.error) for name, row in self.rows.items()}

    def cancel(self, stop: Stop) -> None:
        """What has not begun is canceled; work that runs is, too."""
        self.stop = stop
        for row in self.rows.values():
            for item in row.items:
                item.state = item.state if item.state.final else NodeState.CANCELED
            row.state = row.state if row.state.final else NodeState.CANCELED

    def resume(self, newer: Definition | None = None) -> tuple[dict[str, NodeEnd], Differing | None]:
        """Begin the next round; returns what is kept, or which nodes keep it from beginning."""
        plan = plan_resume(self.definition, self.ends(), newer)
        if isinstance(plan, Differing):
            return {}, plan
        kept = {name: end for name, end in self.ends().items() if name in plan.kept}
        self.definition, self.stop = newer or self.definition, None
        for name, redo in plan.again.items():
            old = self.rows.get(name, Row(0))
            items = old.items if redo is Redo.MEND else []
            for item in items:
                item.state = item.state if item.state is NodeState.SUCCEEDED else NodeState.READY
            state = NodeState.RUNNING if items else NodeState.PENDING
            self.rows[name] = Row(plan.pending[name], state, items=items, begun=old.begun)
        self.rows = {name: self.rows[name] for name in self.definition.nodes}
        return kept, None

    def _moves(self, outcome: Outcome) -> Iterator[Callable[[], None]]:
        if any(row.state.final and not row.counted for row in self.rows.values()):
            yield self._count
        for name, row in self.rows.items():
            if row.state is NodeState.PENDING and row.pending == 0:
                yield lambda name=name: self._judge(name)  # type: ignore[misc] # a default keeps the loop's value
            elif row.items and not row.state.final:
                yield from self._moves_of_items(name, row, outcome)
            elif row.state is NodeState.RUNNING:
                yield lambda name=name: self._work_ends(name, good=outcome(name, 0))  # type: ignore[misc] # the same

    def _moves_of_items(self, name: str, row: Row, outcome: Outcome) -> Iterator[Callable[[], None]]:
        states = [item.state for item in row.items]
        at_work = states.count(NodeState.RUNNING)
        ended = sum(state.final for state in states)
        limit = self.definition.nodes[name].limit
        assert limit is None or at_work <= limit
        if items_to_begin(self.definition.nodes[name], total=len(states), begun=at_work + ended, ended=ended):
            yield lambda: self._items_begin(name, row)
        for index, item in enumerate(row.items):
            if item.state is NodeState.RUNNING:
                yield lambda index=index, item=item: self._item_ends(item, good=outcome(name, index))  # type: ignore[misc] # the same
        if ended == len(states):
            yield lambda: self._items_end(row, states)

    def _count(self) -> None:
        """Some of the ended nodes are subtracted from those after them, as one batch of an advance does."""
        ended = [name for name, row in self.rows.items() if row.state.final and not row.counted]
        batch = set(self._chance.sample(ended, self._chance.randint(1, len(ended))))
        for name in batch:
            self.rows[name].counted = True
        for upstream, downstream in self.definition.edges:
            if upstream in batch and not self.rows[downstream].state.final:
                self.rows[downstream].pending -= 1

    def _judge(self, name: str) -> None:
        node, row = self.definition.nodes[name], self.rows[name]
        needs = [self.rows[need] for need in node.needs]
        assert all(need.state.final for need in needs)
        said = verdict(node.run_if, (need_of(need.state, need.because) for need in needs))
        assert said is not Answer.WAIT
        if isinstance(said, SkipReason):
            row.state, row.because = NodeState.SKIPPED, said
            return
        match take_turn(node, self._facts(nodes_read_by(node)), NOW):
            case Skip(because):
                row.state, row.because = NodeState.SKIPPED, because
            case Fail(error):
                row.state, row.error = NodeState.FAILED, error
            case Succeed():
                row.state = NodeState.SUCCEEDED
            case BeginItems(items):
                row.state, row.items = NodeState.RUNNING, [Item(value) for value in items]
            case _:
                row.state = NodeState.RUNNING
                row.begun += 1

    def _work_ends(self, name: str, *, good: bool) -> None:
        row = self.rows[name]
        row.state = NodeState.SUCCEEDED if good else NodeState.FAILED
        row.error = None if good else NodeError("broken", "the work failed")

    def _items_begin(self, name: str, row: Row) -> None:
        node = self.definition.nodes[name]
        states = [item.state for item in row.items]
        ended = sum(state.final for state in states)
        begun = ended + states.count(NodeState.RUNNING)
        ready = [index for index, state in enumerate(states) if state is NodeState.READY]
        for index in ready[: items_to_begin(node, total=len(states), begun=begun, ended=ended)]:
            made = begin_item(node, self._facts(nodes_read_by(node)), row.items[index].value, index)
            row.items[index].state = NodeState.RUNNING if isinstance(made, Begin) else NodeState.FAILED

    @staticmethod
    def _item_ends(item: Item, *, good: bool) -> None:
        item.state = NodeState.SUCCEEDED if good else NodeState.FAILED

    @staticmethod
    def _items_end(row: Row, states: list[NodeState]) -> None:
        failed, canceled = states.count(NodeState.FAILED), states.count(NodeState.CANCELED)
        row.state = end_of_items(failed=failed, canceled=canceled)
        row.error = NodeError("items", f"{failed} failed") if failed else None

    def _facts(self, names: frozenset[str] | None = None) -> Mapping[str, Any]:
        known = self.rows if names is None else names
        return facts_of(self._given, {name: NodeFacts(self.rows[name].state) for name in known}, RUN)
