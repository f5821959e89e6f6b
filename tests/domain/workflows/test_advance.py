"""What becomes of a node at its turn, of its items, and of the run; the interleavings are in test_runs.py."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.workflows.advance import (
    EXPRESSION,
    TOO_MANY_ITEMS,
    Ask,
    AwaitEvent,
    Begin,
    BeginItems,
    Fail,
    NodeEnd,
    NodeError,
    RunState,
    RunStop,
    Skip,
    Sleep,
    Succeed,
    begin_item,
    end_run,
    items_to_begin,
    nodes_read_at_end,
    nodes_read_by,
    take_turn,
    unhandled,
)
from domain.workflows.definition import MOST_ITEMS, Definition, Node, definition_of
from domain.workflows.expressions import Facts, NodeFacts, facts_of
from domain.workflows.joins import NodeState, SkipReason

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
GIVEN = {
    "yes": True,
    "no": False,
    "text": "abc",
    "long": "x" * 2_000,
    "list": [1, 2],
    "none": [],
    "many": [0] * (MOST_ITEMS + 1),
    "at": "2026-12-01T09:00:00+01:00",
}
FACTS: Facts = facts_of(GIVEN, {"before": NodeFacts(NodeState.SUCCEEDED, {"id": 7})}, {"id": "r"})
RUNS = {"job": "gmail.sync", "with": {"n": "${nodes.before.output.id}"}}


def node(**keys: Any) -> Node:  # noqa: ANN401 - JSON
    nodes = {"before": {"job": "gmail.sync"}, "it": keys}
    return definition_of({"name": "main", "input": {"type": "object"}, "nodes": nodes}).nodes["it"]


@pytest.mark.parametrize(
    ("keys", "becomes"),
    [
        (RUNS, Begin({"n": 7})),
        ({"workflow": "other", "with": {"list": "${input.list}"}}, Begin({"list": [1, 2]})),
        (RUNS | {"when": "${input.yes}"}, Begin({"n": 7})),
        (RUNS | {"when": "${input.no}"}, Skip(SkipReason.WHEN)),
        (RUNS | {"for_each": "${input.list}"}, BeginItems([1, 2])),
        (RUNS | {"for_each": ["a", "${input.text}"]}, BeginItems(["a", "abc"])),
        (RUNS | {"for_each": "${input.none}"}, Succeed([])),
        (RUNS | {"for_each": "${input.none}", "when": "${input.no}"}, Skip(SkipReason.WHEN)),
        ({"wait": {"event": "paid"}}, AwaitEvent("paid")),
        ({"wait": {"approval": "Go?", "show": {"a": "${input.text}"}}}, Ask("Go?", {"a": "abc"})),
        ({"wait": {"approval": "${input.text}"}}, Ask("abc", None)),
        ({"wait": {"until": "P1D"}}, Sleep(NOW + timedelta(days=1))),
        ({"wait": {"until": "2026-11-01T00:00:00Z"}}, Sleep(datetime(2026, 11, 1, tzinfo=UTC))),
        ({"wait": {"until": "${input.at}"}}, Sleep(datetime(2026, 12, 1, 8, tzinfo=UTC))),
    ],
)  # fmt: skip
def test_a_node_whose_turn_has_come(keys: dict[str, Any], becomes: object) -> None:
    assert take_turn(node(**keys), FACTS, NOW) == becomes


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (RUNS | {"when": "${input.text}"}, "when"),
        (RUNS | {"when": "${input.nothing}"}, "when"),
        (RUNS | {"for_each": "${input.text}"}, "for_each"),
        (RUNS | {"for_each": "${input.nothing}"}, "for_each"),
        (RUNS | {"with": {"deep": ["${sum(input.text)}"]}}, "with.deep.0"),
        ({"workflow": "other", "with": {"a": "${input.long}", "b": ["${input.long}"] * 40}}, "with"),
        ({"wait": {"approval": "${input.long}"}}, "wait.approval"),
        ({"wait": {"approval": "${input.none}"}}, "wait.approval"),
        ({"wait": {"until": "${input.text}"}}, "wait.until"),
        ({"wait": {"until": "${input.yes}"}}, "wait.until"),
    ],
)
def test_what_does_not_fit_fails_the_node_and_names_the_place(keys: dict[str, Any], place: str) -> None:
    turn = take_turn(node(**keys), FACTS, NOW)
    assert isinstance(turn, Fail)
    assert turn.error.code == EXPRESSION
    assert turn.error.reason.startswith(f"{place}: ")
    assert "abc" not in turn.error.reason


def test_a_list_that_is_too_long_is_refused_and_never_cut() -> None:
    many = node(**RUNS, for_each="${input.many}")
    assert take_turn(many, FACTS, NOW) == Fail(
        NodeError(TOO_MANY_ITEMS, f"for_each: gives {MOST_ITEMS + 1} items, and a run has {MOST_ITEMS} at most")
    )
    few = node(**RUNS, for_each="${input.list}")
    assert take_turn(few, FACTS, NOW, room=2) == BeginItems([1, 2])
    refused = take_turn(few, FACTS, NOW, room=1)
    assert isinstance(refused, Fail)
    assert refused.error.code == TOO_MANY_ITEMS


def test_an_item_begins_with_itself_and_its_number() -> None:
    with_ = {"a": "${item.x}", "n": "${index}", "id": "${nodes.before.output.id}"}
    each = node(job="gmail.sync", for_each="${input.list}", **{"with": with_})
    assert begin_item(each, FACTS, {"x": "y"}, 3) == Begin({"a": "y", "n": 3, "id": 7})
    wrong = begin_item(node(job="gmail.sync", for_each=[1], **{"with": {"a": "${length(item)}"}}), FACTS, 5, 0)
    assert isinstance(wrong, Fail)


@pytest.mark.parametrize(
    ("begun", "ended", "further"), [(0, 0, 3), (3, 0, 0), (3, 1, 1), (9, 9, 1), (10, 8, 0), (5, 0, 0)]
)
def test_the_window_of_items_slides(begun: int, ended: int, further: int) -> None:
    assert items_to_begin(node(**RUNS, for_each=[1], limit=3), total=10, begun=begun, ended=ended) == further
    assert items_to_begin(node(**RUNS, for_each=[1]), total=10, begun=begun, ended=ended) == 10 - begun


def test_the_nodes_that_a_turn_reads() -> None:
    with_ = {"x": ["${nodes.c.output}"]}
    each = node(job="gmail.sync", when="${nodes.a.output}", for_each="${nodes.b.output}", **{"with": with_})
    assert nodes_read_by(each) == {"a", "b", "c"}
    asks = node(wait={"approval": "${nodes.a.output}", "show": {"x": "${nodes.b.output}"}})
    assert nodes_read_by(asks) == {"a", "b"}
    assert nodes_read_by(node(wait={"until": "${nodes.a.output}"})) == {"a"}


def chain(**nodes: dict[str, Any]) -> Definition:
    """Nodes by name; all of them are jobs."""
    whole = {name: {"job": "gmail.sync", **keys} for name, keys in nodes.items()}
    return definition_of(
        {"name": "main", "input": {"type": "object"}, "nodes": whole, "output": "${nodes.a.output.id}"}
    )


GOOD, BAD = NodeEnd(NodeState.SUCCEEDED), NodeEnd(NodeState.FAILED, error=NodeError("gmail.gone", "is not there"))
KEPT_BACK = NodeEnd(NodeState.SKIPPED, SkipReason.UPSTREAM_FAILED)
NOT_CHOSEN = NodeEnd(NodeState.SKIPPED, SkipReason.WHEN)
CANCELED = NodeEnd(NodeState.CANCELED)


def after(*needs: str, run_if: str = "succeeded") -> dict[str, Any]:
    return {"needs": list(needs), "run_if": run_if}


@pytest.mark.parametrize(
    ("definition", "ends", "left"),
    [
        (chain(a={}), {"a": BAD}, ("a",)),
        (chain(a={}, h=after("a", run_if="failed")), {"a": BAD, "h": GOOD}, ()),
        (chain(a={}, h=after("a", run_if="failed")), {"a": BAD, "h": BAD}, ("a", "h")),
        (
            chain(a={}, h=after("a", run_if="failed")),
            {"a": BAD, "h": NOT_CHOSEN},
            ("a",),
        ),
        (chain(a={}, h=after("a", run_if="done")), {"a": BAD, "h": GOOD}, ("a",)),
        (chain(a={}, b=after("a"), h=after("b", run_if="failed")), {"a": BAD, "b": KEPT_BACK, "h": GOOD}, ()),
        (
            chain(a={}, b=after("a", run_if="done"), h=after("b", run_if="failed")),
            {"a": BAD, "b": BAD, "h": GOOD},
            ("a",),
        ),
        (
            chain(a={}, h=after("a", run_if="failed"), i=after("h", run_if="failed")),
            {"a": BAD, "h": BAD, "i": GOOD},
            (),
        ),
        (chain(a={}, b={}, h=after("a", "b", run_if="failed")), {"a": BAD, "b": GOOD, "h": GOOD}, ()),
        (chain(a={}, b={}, h=after("a", run_if="failed")), {"a": BAD, "b": BAD, "h": GOOD}, ("b",)),
    ],
)
def test_a_failure_that_was_dealt_with(definition: Definition, ends: dict[str, NodeEnd], left: tuple[str, ...]) -> None:
    assert unhandled(definition, ends) == left
    ended = end_run(definition, ends, facts_of({}, {"a": NodeFacts(NodeState.FAILED)}, {}))
    assert ended is not None
    assert ended.state is (RunState.FAILED if left else RunState.SUCCEEDED)
    assert (ended.failure.nodes if ended.failure else ()) == left


def test_a_run_says_why_it_failed_and_what_it_gave() -> None:
    definition = chain(a={}, b={})
    facts = facts_of({}, {"a": NodeFacts(NodeState.SUCCEEDED, {"id": 5})}, {})
    assert nodes_read_at_end(definition) == {"a"}
    assert end_run(definition, {"a": GOOD, "b": NodeEnd(NodeState.WAITING)}, facts) is None
    well = end_run(definition, {"a": GOOD, "b": GOOD}, facts)
    assert well is not None
    assert (well.state, well.output, well.failure) == (RunState.SUCCEEDED, 5, None)
    badly = end_run(definition, {"a": BAD, "b": BAD}, facts)
    assert badly is not None
    assert badly.failure is not None
    assert (badly.failure.code, badly.failure.nodes) == ("gmail.gone", ("a", "b"))
    assert badly.failure.reason.startswith("a: is not there")


def test_an_output_that_cannot_be_evaluated_fails_the_run() -> None:
    document = {"name": "main", "nodes": {"a": {"job": "gmail.sync"}}, "output": ["${nodes.a.output}"] * 3}
    large = facts_of({}, {"a": NodeFacts(NodeState.SUCCEEDED, "x" * 30_000)}, {})
    ended = end_run(definition_of(document), {"a": GOOD}, large)
    assert ended is not None
    assert ended.failure is not None
    assert (ended.state, ended.failure.code) == (RunState.FAILED, EXPRESSION)


@pytest.mark.parametrize(
    ("ends", "stop", "state", "code"),
    [
        ({"a": GOOD, "b": CANCELED}, RunStop.CANCELED, RunState.CANCELED, None),
        ({"a": BAD, "b": CANCELED}, RunStop.CANCELED, RunState.CANCELED, None),
        ({"a": GOOD, "b": CANCELED}, RunStop.DEADLINE, RunState.FAILED, "deadline"),
        ({"a": GOOD, "b": GOOD}, RunStop.CANCELED, RunState.SUCCEEDED, None),
        ({"a": GOOD, "b": BAD}, RunStop.DEADLINE, RunState.FAILED, "gmail.gone"),
    ],
)
def test_a_run_that_is_stopped(ends: dict[str, NodeEnd], stop: RunStop, state: RunState, code: str | None) -> None:
    ended = end_run(chain(a={}, b={}), ends, facts_of({}, {"a": NodeFacts(NodeState.SUCCEEDED)}, {}), stop)
    assert ended is not None
    assert (ended.state, ended.failure and ended.failure.code) == (state, code)
