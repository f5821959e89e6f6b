"""A run as the engine keeps it: rows, counters and short advances, in any interleaving, decided by the rules alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from domain.workflows.advance import (
    Begin,
    BeginItems,
    Fail,
    NodeEnd,
    NodeError,
    RunEnd,
    RunStop,
    Skip,
    Succeed,
    Turn,
    begin_item,
    end_of_items,
    end_run,
    items_to_begin,
    nodes_read_at_end,
    nodes_read_by,
    take_turn,
)
from domain.workflows.definition import Definition
from domain.workflows.expressions import NodeFacts, facts_of
from domain.workflows.joins import JoinAnswer, NodeState, SkipReason, need_of, verdict
from domain.workflows.resume import Differing, Redo, plan_resume

NOW = datetime(2026, 11, 27, tzinfo=UTC)
RUN = {"id": "r", "workflow": "w", "version": 1, "created_at": "2026-11-27T00:00:00Z"}
Work = Callable[[str, int, Turn], Any]
"""How the work of a node, or of one of its items, ends: its output, or a `NodeError`. Item -1 is the node itself."""
Move = Callable[[], None]


@dataclass
class Item:
    """An item of a node that has them."""

    value: Any
    begin: Turn | None = None
    """What it began with; a resume begins with the same."""
    state: NodeState = NodeState.PENDING
    output: Any = None


@dataclass
class Row:
    """A node of the run."""

    pending: int
    state: NodeState = NodeState.PENDING
    begin: Turn | None = None
    because: SkipReason | None = None
    error: NodeError | None = None
    output: Any = None
    items: list[Item] | None = None
    counted: bool = False
    rounds: list[int] = field(default_factory=list)
    """In which its work began."""


class SimulatedRun:
    """A run that is taken further by one random move after the other."""

    def __init__(self, definition: Definition, given: Mapping[str, Any], chance: Random) -> None:
        self.definition, self._given, self._chance, self._round = definition, given, chance, 1
        self.rows = {name: Row(len(node.needs)) for name, node in definition.nodes.items()}
        self.end: RunEnd | None = None
        self.renewed: set[str] = set()
        """The nodes that the latest resume began anew."""
        self._stop: RunStop | None = None

    def play(self, work: Work) -> RunEnd:
        """Make moves until none is left; the run has ended then, or it would stand still for ever."""
        self.move(work)
        facts = self._facts(nodes_read_at_end(self.definition))
        self.end = end_run(self.definition, self.ends(), facts, self._stop)
        assert self.end is not None, "a run with nothing to wait for has ended"
        return self.end

    def move(self, work: Work, most: int | None = None) -> None:
        """Make so many moves, or all that there are."""
        while (most is None or most > 0) and (moves := list(self._moves(work))):
            self._chance.choice(moves)()
            most = None if most is None else most - 1

    def ends(self) -> dict[str, NodeEnd]:
        return {name: NodeEnd(row.state, row.because, row.error) for name, row in self.rows.items()}

    def cancel(self, stop: RunStop) -> None:
        """What has not begun is canceled; work that runs is, too."""
        self._stop = stop
        for row in self.rows.values():
            for one in (*(row.items or ()), row):
                one.state = one.state if one.state.final else NodeState.CANCELED

    def resume(self, newer: Definition | None = None) -> tuple[dict[str, NodeEnd], Differing | None]:
        """Begin the next round; returns what is kept, or which nodes keep it from beginning."""
        plan = plan_resume(self.definition, self.ends(), newer)
        if isinstance(plan, Differing):
            return {}, plan
        kept = {name: end for name, end in self.ends().items() if name in plan.kept}
        before, self.definition = self.definition, newer or self.definition
        self._stop, self._round = None, self._round + 1
        self.renewed = {name for name, redo in plan.again.items() if redo is Redo.ANEW}
        for name, redo in plan.again.items():
            old = self.rows.get(name, Row(0))
            row = self.rows[name] = Row(plan.pending[name], rounds=old.rounds)
            if redo is Redo.MEND and old.items:
                same = before.nodes[name] == self.definition.nodes[name]
                row.state, row.items = NodeState.RUNNING, [_mended(item, same=same) for item in old.items]
        self.rows = {name: self.rows[name] for name in self.definition.nodes}
        return kept, None

    def _moves(self, work: Work) -> Iterator[Move]:
        if any(row.state.final and not row.counted for row in self.rows.values()):
            yield self._count
        for name, row in self.rows.items():
            if row.state is NodeState.PENDING and row.pending == 0:
                yield partial(self._judge, name)
            elif row.items and not row.state.final:
                yield from self._moves_of_items(name, row.items, work)
            elif row.state is NodeState.RUNNING and row.begin is not None:
                yield partial(self._work_ends, row, work, name, -1)

    def _moves_of_items(self, name: str, items: list[Item], work: Work) -> Iterator[Move]:
        at_work = [index for index, item in enumerate(items) if item.state is NodeState.RUNNING]
        limit = self.definition.nodes[name].limit
        assert limit is None or len(at_work) <= limit
        if self._further(name, items):
            yield partial(self._items_begin, name, items)
        for index in self._chance.sample(at_work, min(len(at_work), 3)):
            yield partial(self._work_ends, items[index], work, name, index)
        if all(item.state.final for item in items):
            yield partial(self._items_end, self.rows[name], items)

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
        answer = verdict(node.run_if, (need_of(need.state, need.because) for need in needs))
        assert answer is not JoinAnswer.WAIT
        if isinstance(answer, SkipReason):
            row.state, row.because = NodeState.SKIPPED, answer
            return
        match take_turn(node, self._facts(nodes_read_by(node)), NOW):
            case Skip(because):
                row.state, row.because = NodeState.SKIPPED, because
            case Fail(error):
                row.state, row.error = NodeState.FAILED, error
            case Succeed():
                row.state, row.items = NodeState.SUCCEEDED, []
            case BeginItems(items):
                row.state, row.items = NodeState.RUNNING, [Item(value) for value in items]
            case begin:
                row.state, row.begin = NodeState.RUNNING, begin
                row.rounds.append(self._round)

    @staticmethod
    def _work_ends(one: Row | Item, work: Work, name: str, index: int) -> None:
        assert one.begin is not None
        output = work(name, index, one.begin)
        one.state = NodeState.FAILED if isinstance(output, NodeError) else NodeState.SUCCEEDED
        if isinstance(one, Row) and isinstance(output, NodeError):
            one.error = output
        else:
            one.output = None if isinstance(output, NodeError) else output

    def _further(self, name: str, items: list[Item]) -> int:
        ended = sum(item.state.final for item in items)
        begun = ended + sum(item.state is NodeState.RUNNING for item in items)
        return items_to_begin(self.definition.nodes[name], total=len(items), begun=begun, ended=ended)

    def _items_begin(self, name: str, items: list[Item]) -> None:
        node = self.definition.nodes[name]
        facts = self._facts(nodes_read_by(node))
        ready = [index for index, item in enumerate(items) if item.state is NodeState.PENDING]
        for index in ready[: self._further(name, items)]:
            item = items[index]
            item.begin = item.begin or begin_item(node, facts, item.value, index)
            item.state = NodeState.RUNNING if isinstance(item.begin, Begin) else NodeState.FAILED

    @staticmethod
    def _items_end(row: Row, items: list[Item]) -> None:
        states = [item.state for item in items]
        failed, canceled = states.count(NodeState.FAILED), states.count(NodeState.CANCELED)
        row.state = end_of_items(failed=failed, canceled=canceled)
        row.error = NodeError("items", f"{failed} failed") if failed else None

    def _facts(self, names: frozenset[str]) -> Mapping[str, Any]:
        nodes = {name: _facts_of(self.rows[name]) for name in names}
        return facts_of(self._given, nodes, RUN | {"round": self._round})


def _mended(item: Item, *, same: bool) -> Item:
    if item.state is NodeState.SUCCEEDED:
        return item
    return Item(item.value, item.begin if same else None)


def _facts_of(row: Row) -> NodeFacts:
    outputs = None if row.items is None else [item.output for item in row.items]
    error = None if row.error is None else row.error._asdict()
    return NodeFacts(row.state, row.output, outputs, error)
