"""The whole truth table of joins, as docs/explanation/workflow-definitions.md has it."""

import re
from itertools import product

from domain.workflows.definition import RunIf
from domain.workflows.joins import FINAL, JoinAnswer, Need, NodeState, SkipReason, need_of, verdict
from tests.written_pages import DOCS

WORDS = {"succeeded": Need.SUCCEEDED, "failed": Need.FAILED, "skipped": Need.SKIPPED, "canceled": Need.CANCELED}
RULES = (RunIf.SUCCEEDED, RunIf.NOT_FAILED, RunIf.FAILED, RunIf.DONE)


def written() -> dict[tuple[frozenset[Need], RunIf], JoinAnswer | SkipReason]:
    """The table of the page."""
    table = {}
    page = (DOCS / "explanation" / "workflow-definitions.md").read_text()
    text = page.partition("\n| the needs |")[2].partition("\n\n")[0]
    for needs, *cells in re.findall(r"^\| ([a-z, ]+) \| (\w+) \| (\w+) \| (\w+) \| (\w+) \|$", text, re.MULTILINE):
        ends = frozenset(WORDS[word] for word in needs.split(", ") if word != "none")
        for rule, cell in zip(RULES, cells, strict=True):
            table[ends, rule] = JoinAnswer.RUN if cell == "runs" else SkipReason(cell)
    return table


def test_every_join_is_as_the_table_says() -> None:
    table = written()
    assert len(table) == 2 ** len(WORDS) * len(RULES)
    for rule in RULES:
        for needs in (needs for count in range(5) for needs in product(Need, repeat=count)):
            expected = JoinAnswer.WAIT if Need.OPEN in needs else table[frozenset(needs), rule]
            assert verdict(rule, needs) is expected, (rule, needs)


def test_what_a_node_is_to_those_after_it() -> None:
    states = {state: need_of(state) for state in NodeState if state is not NodeState.SKIPPED}
    assert {state for state, need in states.items() if need is not Need.OPEN} == FINAL - {NodeState.SKIPPED}
    assert {state.value: need for state, need in states.items() if need is not Need.OPEN}.items() <= WORDS.items()
    skipped = {reason: need_of(NodeState.SKIPPED, reason) for reason in SkipReason}
    assert skipped == {
        SkipReason.WHEN: Need.SKIPPED,
        SkipReason.NOTHING_FAILED: Need.SKIPPED,
        SkipReason.UPSTREAM_SKIPPED: Need.SKIPPED,
        SkipReason.UPSTREAM_FAILED: Need.FAILED,
        SkipReason.UPSTREAM_CANCELED: Need.CANCELED,
    }
