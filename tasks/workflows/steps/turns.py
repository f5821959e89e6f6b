"""Judges nodes whose turn has come, and has begin what follows from it."""

from collections.abc import Mapping, Sequence

from domain.instants import read_instant
from domain.jobs.job import JsonObject
from domain.workflows.advance import (
    Ask,
    AwaitEvent,
    Begin,
    BeginItems,
    Fail,
    NodeEnd,
    Skip,
    Sleep,
    Succeed,
    Turn,
    begin_item,
    items_to_begin,
    nodes_read_by,
    take_turn,
)
from domain.workflows.definition import MOST_ITEMS, ApprovalWait, EventWait, Node, UntilWait
from domain.workflows.expressions import Facts, NodeFacts, facts_of
from domain.workflows.joins import JoinAnswer, NodeState, SkipReason, need_of, verdict
from storage.workflows import advancing
from storage.workflows.advancing import Begun, EndedNode, NextNode, OpenList, PutBack
from storage.workflows.nodes import THE_NODE
from tasks.workflows.steps.advance import Advance, rows_of
from tasks.workflows.steps.counting import end_nodes
from tasks.workflows.steps.waits import ask, begun_wait
from tasks.workflows.steps.work import Piece, begin

Standing = Mapping[str, tuple[NodeEnd, NodeFacts]]
"""How nodes stand, and what expressions may know of them."""


def take_turns(at: Advance) -> None:
    """Judge the nodes whose turn has come, as many as the transaction has rows and time left, and at least one."""
    following = at.following.answer[: max(at.left, 1)]
    if not following:
        return
    nodes = at.workflow.definition.nodes
    named = [nodes[one.node] for one in following]
    read = frozenset[str]().union(*(nodes_read_by(node) for node in named))
    needs = frozenset(need for node in named for need in node.needs)
    if read or needs - at.succeeded:
        standing = advancing.read_nodes(at.tx, at.run_id, needs | read, read)
    else:
        standing = advancing.have_succeeded(needs)
    facts = facts_in(at, standing)
    turns: dict[str, Turn | None] = {}
    spent = 0
    for one in following:
        turns[one.node] = _turn(at, one, standing, facts)
        spent += rows_of(nodes[one.node])
        if at.is_late or spent >= at.left:
            break
    _apply(at, following[: len(turns)], turns)
    at.wrote(spent)


def facts_in(at: Advance, standing: Standing) -> Facts:
    """What the run's expressions see, where nodes stand so."""
    run = at.run
    about = {"id": str(run.run_id), "workflow": run.workflow, "version": run.version, "round": run.round}
    about["created_at"] = run.created_at.isoformat()
    return facts_of(run.input, {name: known for name, (_, known) in standing.items()}, about)


def _turn(at: Advance, following: NextNode, standing: Standing, facts: Facts) -> Turn | None:
    """What becomes of a node; None for one with items that goes on with the list that it has."""
    node = at.workflow.definition.nodes[following.node]
    if following.items_total is not None:
        return None
    if following.input is not None:
        return _kept_turn(node, following.input)
    ends = [standing[need][0] for need in node.needs]
    judged = verdict(node.run_if, (need_of(end.state, end.skipped_because) for end in ends))
    if judged is JoinAnswer.WAIT:
        raise AssertionError(f"{node.name}: its turn has come, and a need of it has not ended")
    if isinstance(judged, SkipReason):
        return Skip(judged)
    turn = take_turn(node, facts, at.run.read_at, room=MOST_ITEMS - at.run.items - at.items)
    at.items += len(turn.items) if isinstance(turn, BeginItems) else 0
    return turn


def _kept_turn(node: Node, given: JsonObject) -> Turn:
    """The turn of a node that goes on with what it was given in an earlier round: nothing is evaluated again."""
    match node.work:
        case ApprovalWait():
            return Ask(given["question"], given["show"])
        case EventWait(event):
            return AwaitEvent(event)
        case UntilWait():
            return Sleep(read_instant(given["until"]))
    return Begin(given)


def _apply(at: Advance, following: Sequence[NextNode], turns: Mapping[str, Turn | None]) -> None:
    """Write what becomes of nodes."""
    nodes = at.workflow.definition.nodes
    ended = [end for name, turn in turns.items() if (end := _ended(name, turn)) is not None]
    _begin_lists(at, following, turns)
    pieces = [
        Piece(nodes[one.node], THE_NODE, turn.input, one.child_run)
        for one in following
        if isinstance(turn := turns[one.node], Begin)
    ]
    waiting = [
        begun_wait(at, nodes[name], turn) for name, turn in turns.items() if isinstance(turn, Ask | AwaitEvent | Sleep)
    ]
    begun = [*begin(at, pieces), *waiting]
    refused = [EndedNode(one.node, NodeState.FAILED, one.error) for one in begun if one.error is not None]
    if len(begun) > len(refused):
        advancing.begin_nodes(at.tx, at.run, [one for one in begun if one.error is None])
        ask(at, waiting)
    end_nodes(at, [*ended, *refused])


def _ended(name: str, turn: Turn | None) -> EndedNode | None:
    """The end of a node that ends with its turn."""
    match turn:
        case Skip(because):
            return EndedNode(name, NodeState.SKIPPED, skipped_because=because)
        case Fail(error):
            return EndedNode(name, NodeState.FAILED, error)
        case Succeed():
            return EndedNode(name, NodeState.SUCCEEDED)
    return None


def _begin_lists(at: Advance, following: Sequence[NextNode], turns: Mapping[str, Turn | None]) -> None:
    """Begin the lists of nodes that have items."""
    lists: dict[str, Sequence[object]] = {}
    new_items = 0
    for one in following:
        match turns[one.node]:
            case None:
                lists[one.node] = one.input if isinstance(one.input, list) else []
            case Succeed():
                lists[one.node] = []
            case BeginItems(items):
                lists[one.node] = items
                new_items += len(items)
    if lists:
        advancing.begin_lists(at.tx, at.run_id, lists, new_items=new_items)


def begin_items(at: Advance) -> None:
    """Have items begin: as many as their nodes' limits, and the transaction's rows and time, leave room for."""
    for one in advancing.open_lists(at.tx, at.run_id):
        node = at.workflow.definition.nodes[one.node]
        room = items_to_begin(node, total=one.items_total, begun=one.items_started, ended=one.items_ended)
        if room > 0 and at.left > 0:
            begun = _items(at, node, one, min(room, max(at.left // rows_of(node), 1)))
            advancing.begin_items(at.tx, at.run, node.name, begun)
            at.wrote(len(begun) * rows_of(node))
            at.again = at.again or any(item.error is not None for item in begun)


def _items(at: Advance, node: Node, listed: OpenList, room: int) -> list[Begun]:
    """The next items of a node, at least one, those before the others that a resume has put back."""
    read = nodes_read_by(node)
    facts = facts_in(at, advancing.read_nodes(at.tx, at.run_id, read, read))
    put_back = advancing.put_back_items(at.tx, at.run_id, node.name, room) if at.run.round > 1 else []
    first = listed.next_item
    last = min(first + room - len(put_back), listed.items_total)
    wanted = [*put_back, *(PutBack(item, None, None) for item in range(first, last))]
    failed: list[Begun] = []
    pieces: list[Piece] = []
    for item, given, child_run in wanted:
        match Begin(given) if given is not None else begin_item(node, facts, listed.items[item], item):
            case Begin(own):
                pieces.append(Piece(node, item, own, child_run))
            case Fail(error):
                failed.append(Begun(node.name, item, None, error=error))
        if at.is_late:
            break
    return [*begin(at, pieces), *failed]
