"""What `${…}` gives, and what stops an expression that takes or makes too much."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.contract import LARGEST_PAYLOAD
from domain.jobs.failures import Invalid
from domain.workflows.expressions import LARGEST_VALUE, MOST_VISITS, NodeFacts, RefusedOutput, evaluate, facts_of
from domain.workflows.joins import NodeState

RUN = {"id": "r1", "workflow": "w", "version": 3, "round": 1, "created_at": "2026-11-27T00:00:00Z"}
NODES = {
    "a": NodeFacts(NodeState.SUCCEEDED, output={"text": "x", "list": [3, 1, 2]}),
    "b": NodeFacts(NodeState.FAILED, error={"code": "timeout", "reason": "nobody answered"}),
    "each": NodeFacts(NodeState.FAILED, outputs=[{"ok": True}, None, {"ok": False}]),
    "huge": NodeFacts(NodeState.SUCCEEDED, output=RefusedOutput("has 300000 bytes")),
    "some": NodeFacts(NodeState.SUCCEEDED, outputs=[1, RefusedOutput("has a NUL")]),
}
FACTS = facts_of({"name": "Ada", "many": list(range(6_000)), "long": "x" * 40_000, "empty": [""] * 6_000}, NODES, RUN)


@pytest.mark.parametrize(
    ("value", "gives"),
    [
        ("plain", "plain"),
        ("${input.name}", "Ada"),
        ({"to": ["${input.name}", 1], "n": None}, {"to": ["Ada", 1], "n": None}),
        ("${nodes.a.output.list[?@ > `1`]}", [3, 2]),
        ("${sort(nodes.a.output.list)}", [1, 2, 3]),
        ("${nodes.b.error.code}", "timeout"),
        ("${nodes.each.outputs[*].ok}", [True, False]),
        ("${nodes.each.outputs[1]}", None),
        ("${nodes.b.state == 'failed'}", True),
        ("${nodes.huge.state}", "succeeded"),
        ("${nodes.some.outputs[0]}", 1),
        ("${run.version}", 3),
        ("${join('', ['Hello ', input.name, '!'])}", "Hello Ada!"),
        ("${nodes.a.output.nothing}", None),
        ("${length(input.many)}", 6_000),
    ],
)
def test_an_expression_is_replaced_by_what_it_gives(value: object, gives: object) -> None:
    assert evaluate("with", value, FACTS) == gives


def piped(first: str, step: str, times: int) -> str:
    return "${" + " | ".join([first, *[step] * times]) + "}"


BOMBS = {
    "a text that doubles": piped("input.name", "join('', [@, @])", 22),
    "a list that doubles": piped("input.name", "[@, @]", 30),
    "an object that doubles": piped("input.name", "{a: @, b: @}", 30),
    "a list that doubles and is flattened": piped("input.many", "[@, @][]", 20),
    "a list as text": piped("input.name", "to_string([@, @, @, @])", 12),
    "a long separator": "${join(input.long, input.empty)}",
    "a list for each of a list": "${input.many[*].[@, @, @, @]}",
    "a map of a map": "${input.many | map(&[@, @], @) | map(&[@, @], @)}",
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_an_expression_that_grows_is_stopped(bomb: str) -> None:
    with pytest.raises(Invalid) as refused:
        evaluate("with.text", bomb, FACTS)
    assert refused.value.field == "with.text"
    assert str(LARGEST_VALUE) in refused.value.reason or str(MOST_VISITS) in refused.value.reason


def test_all_expressions_of_a_value_share_the_bounds() -> None:
    assert len(evaluate("with", ["${input.many[:3000].to_string(@)}"], FACTS)[0]) == 3_000
    with pytest.raises(Invalid, match=str(MOST_VISITS)):
        evaluate("with", ["${input.many[:3000].to_string(@)}"] * 2, FACTS)
    assert len(evaluate("with", ["${input.long}"] * 6, FACTS)) == 6
    with pytest.raises(Invalid, match=str(LARGEST_PAYLOAD)):
        evaluate("with", ["${input.long}"] * 7, FACTS)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("nodes.huge.output", "has 300000 bytes"),
        ("nodes.huge.output.text", "has 300000 bytes"),
        ("nodes.some.outputs[1].a", "has a NUL"),
        ("nodes.some.outputs", "has a NUL"),
        ("nodes.some.outputs[*].a", "has a NUL"),
        ("to_string(nodes.some.outputs)", "has a NUL"),
        ("nodes.huge", "has 300000 bytes"),
        ("sum(input.name)", "takes array-number, and gets str"),
        ("input.name < `1`", "TypeError"),
        ("input.many[::0]", "ValueError"),
        ("to_number('1e999')", "JSON has no word"),
        ("`1e999`", "JSON has no word"),
        ("ceil(`1e999`)", "OverflowError"),
        (r"""`"\u0000"`""", "cannot store"),
        ("map(&a, input.name)", "takes array"),
    ],
)
def test_what_cannot_be_evaluated_says_why_and_not_what(expression: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        evaluate("when", f"${{{expression}}}", FACTS)
    assert refused.value.field == "when"
    assert reason in refused.value.reason
    assert "Ada" not in refused.value.reason


PARTS = """
input nodes .a .each .output .outputs [*] [] [0] [::2] [?a] @ * .* | || && ! ( ) {a: } [ ] , & `1` 'x' == < [?@==`1`]
join('', map(& sort_by( to_string( length( merge( values( not_null( max_by( reverse( keys(
"""


@given(st.lists(st.sampled_from(PARTS.split()), max_size=25).map(" ".join))
def test_any_expression_gives_json_or_is_refused(expression: str) -> None:
    with suppress(Invalid):
        found = evaluate("with", f"${{{expression}}}", FACTS)
        assert len(json.dumps(found, allow_nan=False)) <= 2 * LARGEST_VALUE


def test_a_number_that_json_lacks_is_no_output() -> None:
    with pytest.raises(Invalid):
        evaluate("output", math.nan, FACTS)


@pytest.mark.parametrize("call", ["length(sort(input.many))", "max(input.many)", "length(reverse(input.long))"])
def test_a_step_about_much_counts_as_many(call: str) -> None:
    assert evaluate("with", f"${{{call}}}", FACTS)
    with pytest.raises(Invalid) as refused:
        evaluate("with", [f"${{{call}}}"] * 500, FACTS)
    assert str(MOST_VISITS) in refused.value.reason


@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, pytest.param("\x01" * 60, id="control")])
def test_a_value_is_as_large_as_the_database_writes_it(value: object) -> None:
    with pytest.raises(Invalid) as refused:
        evaluate("output", {"list": [value] * 250}, FACTS, most=LARGEST_VALUE)
    assert str(LARGEST_VALUE) in refused.value.reason
