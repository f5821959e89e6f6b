"""What an expression reads is seen before a run; what would read all nodes, or nothing, is a defect."""

import pytest

from domain.workflows.references import LONGEST_EXPRESSION, Reference, expression_in, joined, nodes_read, read


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ("nodes.a.output.x", [("a", "output")]),
        ("nodes.a", [("a", None)]),
        ("nodes | a.output", [("a", "output")]),
        ("(nodes).a.state", [("a", "state")]),
        ('nodes."a".state', [("a", "state")]),
        ("nodes.a.outputs[0].x", [("a", "outputs")]),
        ("nodes.a.outputs[?ok].id | [0]", [("a", "outputs")]),
        ("nodes.a.outputs[].x", [("a", "outputs")]),
        ("[nodes.a.output, {b: nodes.b.error.code}]", [("a", "output"), ("b", "error")]),
        (
            "nodes.a.state == 'failed' && !(nodes.b.output) || nodes.c.output",
            [("a", "state"), ("b", "output"), ("c", "output")],
        ),
        ("sort_by(nodes.a.outputs, &nodes.b)", [("a", "outputs")]),
        ("not_null(nodes.a.output, nodes.b.output)", [("a", "output"), ("b", "output")]),
        ("input.nodes.a", []),
        ("nodes.a.output.nodes.b", [("a", "output")]),
        ("input.list[?nodes.a]", []),
    ],
)
def test_the_nodes_that_are_read(expression: str, reads: list[tuple[str, str | None]]) -> None:
    found = read(expression)
    assert found.defects == ()
    assert found.references == {Reference(*one) for one in reads}
    assert nodes_read({"with": ["literal", f"${{{expression}}}"]}) == {node for node, _ in reads}


WRONG = """
nodes|nodes.*|nodes.*.output|@|@.nodes|@.nodes.a|*|[0]|nodes[0]|nodes[*]
!input.a|!nodes.a.output|values(nodes)|length(@)|{n: nodes}|[nodes]|!nodes
nodes == `1`|other|nodes.a.result|run.secret|input[|`{`.|nope(input)|join(input)|sort_by(input.a, b)|&input
map(input.a, &b)
"""
PIPED = ["nodes || input", "nodes | @", "", "x" * (LONGEST_EXPRESSION + 1)]
DEEP = [
    "[" * 500 + "]" * 500,
    "(" * 499 + "input" + ")" * 496,
    "!" * 990 + "input",
    "{a: " * 200,
    "input" + "[?a" * 200,
]
LONG = ["input" + ".a" * 600, "input" + "|[@]" * 240, "input.a || " * 90 + "input", "input" + "[*]" * 300]


@pytest.mark.parametrize("expression", [*WRONG.strip().replace("\n", "|").split("|"), *PIPED, *DEEP, *LONG])
def test_what_reads_all_or_nothing_or_is_no_expression(expression: str) -> None:
    assert read(expression).defects != ()


def test_what_is_the_same_in_every_run() -> None:
    assert all(read(one).is_constant for one in ("`false`", "'a' == 'b'", "length(`[1]`)"))
    assert not any(read(one).is_constant for one in ("input", "run.id", "nodes.a.output", "item", "nope()"))


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("Hello", None),
        ("${input.name}", None),
        ("$ {x} $", None),
        ("Hello ${input.name}!", "${join('', ['Hello ', input.name, '!'])}"),
        ("${input.a}${input.b}", "${join('', [input.a, input.b])}"),
        (" ${input.a}", "${join('', [' ', input.a])}"),
        ("it's ${input.a}", r"${join('', ['it\'s ', input.a])}"),
        ("${ unclosed", "${join('', ['…', …])}"),
    ],
)
def test_an_expression_inside_a_text_is_shown_as_a_join(text: str, instead: str | None) -> None:
    assert joined(text) == instead
    if instead is not None:
        assert expression_in(text) is None
        assert "…" in instead or read(str(expression_in(instead))).defects == ()
