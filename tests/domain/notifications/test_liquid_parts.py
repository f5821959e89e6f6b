"""Our cutting of Liquid beside the language's own lexer: what both take says the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from liquid import Environment
from liquid.exceptions import LiquidError

from domain.jobs.failures import Invalid
from domain.notifications.liquid import render
from domain.notifications.liquid_parts import LONGEST_EXPRESSION, MOST_PARTS

THEIRS = Environment()
DATA = {"a": "x", "list": ["1", "2"]}
PIECES = st.sampled_from(
    [
        " ",
        "\n",
        "word",
        "{",
        "}",
        "%",
        "-",
        "{{ a }}",
        "{{-a-}}",
        "{{ a -}}",
        "{{- 'b' }}",
        "{%- if a -%}",
        "{% if a %}",
        "{% endif %}",
        "{%- endif -%}",
        "{% for i in list %}",
        "{{ i }}",
        "{% endfor %}",
        "{% comment %}",
        "{%- comment -%}",
        "{% endcomment %}",
        "{%- endcomment -%}",
        "{% raw %}",
        "{%- raw -%}",
        "{% endraw %}",
        "{% assign b = a %}",
        "{{b}}",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_both_take_says_the_same(source: str) -> None:
    try:
        ours = render("text", source, DATA)
        theirs = THEIRS.from_string(source).render(**DATA)
    except (Invalid, LiquidError):
        return
    assert ours.split() == theirs.split()
    assert ours == theirs or "raw" in source or "comment" in source, "the dashes of these two it reads otherwise"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("a {{- a -}} b", "axb"),
        ("a {%- comment -%} {{ {% comment %} {% endcomment %} x {%- endcomment -%} b", "ab"),
        ("{% raw %} {{ a }} {%- {% endraw %}!", " {{ a }} {%- !"),
        ("{% raw -%} {{ a }} {% endraw -%} !", " {{ a }} !"),
        ("{%-if a-%} y {%-endif-%}", "y"),
        ("{{'}'}}", "}"),
        ("} %} }}", "} %} }}"),
        ("", ""),
    ],
)
def test_what_is_taken_off_and_left_as_it_is(source: str, said: str) -> None:
    assert render("text", source, DATA) == said


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("\n{{ a", "expected }}, found the end of the text (line 2)"),
        ("{% if a", "expected %}, found the end of the text (line 1)"),
        ("{% comment %}{% comment %}{% endcomment %}", "expected endcomment, found the end of the text (line 1)"),
        ("{% raw %}", "expected endraw, found the end of the text (line 1)"),
        ("{% %}", "missing tag name (line 1)"),
        ("{% endcomment %}", "unexpected tag 'endcomment' (line 1)"),
        ("{% include 'x' %}", "unexpected tag 'include' (line 1)"),
        ("{{ 'x" + "x" * LONGEST_EXPRESSION + "' }}", "has more than 500 characters between its braces (line 1)"),
        ("{{a}}" * (MOST_PARTS + 1), "has more than 1000 outputs and tags (line 1)"),
        ("{% for i in list %}{% for i in list %}{{ i }}" + " " * 20_000, "has more than 20000 characters"),
        ("{% for i in many %}{{ a | upcase }}{% endfor %}" * 40, "takes too much work (line 1)"),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line(source: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        render("text", source, {**DATA, "many": ["x"] * 900})
    assert refused.value.reason == f"text: {reason}"
