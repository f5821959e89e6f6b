"""What a resume does again, and what it keeps, by the run's own definition and by a newer one."""

from typing import Any

import pytest

from domain.workflows.advance import NodeEnd
from domain.workflows.definition import Definition, definition_of
from domain.workflows.joins import NodeState, SkipReason
from domain.workflows.resume import Differing, Redo, ResumePlan, plan_resume

GOOD, BAD, CANCELED = (NodeEnd(state) for state in (NodeState.SUCCEEDED, NodeState.FAILED, NodeState.CANCELED))
BACK = NodeEnd(NodeState.SKIPPED, SkipReason.UPSTREAM_FAILED)
NOT_CHOSEN = NodeEnd(NodeState.SKIPPED, SkipReason.WHEN)
MEND, ANEW = Redo.MEND, Redo.ANEW


def workflow(**nodes: tuple[str, dict[str, Any]]) -> Definition:
    """Nodes by name: their needs as one text, and their other keys."""
    whole = {
        name: ({} if keys.keys() & {"workflow", "wait"} else {"job": "gmail.sync"}) | {"needs": needs.split()} | keys
        for name, (needs, keys) in nodes.items()
    }
    return definition_of({"name": "main", "input": {"type": "object"}, "nodes": whole})


FIVE = workflow(a=("", {}), b=("a", {}), c=("b", {}), d=("a", {}), e=("c d", {"run_if": "done"}))


@pytest.mark.parametrize(
    ("definition", "ends", "again"),
    [
        (FIVE, {"a": GOOD, "b": BAD, "c": BACK, "d": GOOD, "e": GOOD}, {"b": MEND, "c": ANEW, "e": ANEW}),
        (FIVE, {"a": GOOD, "b": GOOD, "c": CANCELED, "d": CANCELED, "e": CANCELED}, {"c": MEND, "d": MEND, "e": ANEW}),
        (FIVE, {"a": GOOD, "b": NOT_CHOSEN, "c": NOT_CHOSEN, "d": GOOD, "e": BAD}, {"e": MEND}),
        (FIVE, {"a": BAD, "b": BACK, "c": BACK, "d": BACK, "e": GOOD}, {"a": MEND, **dict.fromkeys("bcde", ANEW)}),
        (FIVE, dict.fromkeys("abcde", GOOD), {}),
        (
            workflow(a=("", {}), h=("a", {"run_if": "failed"}), b=("", {})),
            {"a": BAD, "h": GOOD, "b": BAD},
            {"b": MEND},
        ),
        (
            workflow(a=("", {}), h=("a b", {"run_if": "failed"}), b=("", {}), i=("b", {})),
            {"a": BAD, "h": BAD, "b": GOOD, "i": GOOD},
            {"a": MEND, "h": ANEW},
        ),
        (
            workflow(a=("", {}), b=("", {}), h=("a b", {"run_if": "failed"}), c=("b", {"run_if": "done"})),
            {"a": BAD, "b": CANCELED, "h": GOOD, "c": GOOD},
            {"a": MEND, "b": MEND, "h": ANEW, "c": ANEW},
        ),
    ],
)  # fmt: skip
def test_what_is_done_again(definition: Definition, ends: dict[str, NodeEnd], again: dict[str, Redo]) -> None:
    plan = plan_resume(definition, ends)
    assert isinstance(plan, ResumePlan)
    assert plan.again == again
    assert plan.kept == ends.keys() - again.keys()
    assert plan.pending == {name: len(again.keys() & set(definition.nodes[name].needs)) for name in again}
    assert plan.dropped == frozenset()


EACH: dict[str, Any] = {"for_each": "${input.list}", "limit": 2, "with": {"account_id": "${item}"}}
OTHER_WITH = EACH | {"with": {"account_id": "x"}, "limit": 1}
OTHER_LIST = EACH | {"for_each": "${input.other}"}
INNER, OUTER, MENDED = {"workflow": "inner"}, {"workflow": "outer"}, {"workflow": "inner", "with": {"x": 1}}
BEFORE = workflow(a=("", {}), b=("a", EACH), s=("a", INNER), z=("b s", {}))
ENDS = {"a": GOOD, "b": BAD, "s": BAD, "z": BACK}


@pytest.mark.parametrize(
    ("newer", "again"),
    [
        (BEFORE, {"b": MEND, "s": MEND, "z": ANEW}),
        (
            workflow(a=("", {}), b=("a", OTHER_WITH), s=("a", MENDED), z=("b", {})),
            {"b": MEND, "s": MEND, "z": ANEW},
        ),
        (
            workflow(a=("", {}), b=("a", OTHER_LIST), s=("a", OUTER), z=("b", {})),
            {"b": ANEW, "s": ANEW, "z": ANEW},
        ),
        (workflow(a=("", {}), b=("a", {"wait": {"event": "x"}}), s=("a", {})), {"b": ANEW, "s": ANEW}),
        (
            workflow(a=("", {}), n=("a", {}), b=("n", EACH), s=("a", INNER), m=("", {})),
            {"n": ANEW, "b": ANEW, "s": MEND, "m": ANEW},
        ),
    ],
)
def test_a_newer_version_mends_what_is_done_again(newer: Definition, again: dict[str, Redo]) -> None:
    plan = plan_resume(BEFORE, ENDS, newer)
    assert isinstance(plan, ResumePlan)
    assert plan.again == again
    assert plan.kept == {"a"}
    assert plan.dropped == BEFORE.nodes.keys() - newer.nodes.keys()


@pytest.mark.parametrize(
    "newer",
    [
        workflow(b=("", {}), z=("b", {})),
        workflow(a=("", {"timeout": "PT1H"}), b=("a", EACH), z=("b", {})),
        workflow(a=("n", {}), n=("", {}), b=("a", EACH)),
        workflow(a=("", {"with": {"account_id": "other"}})),
    ],
)
def test_a_newer_version_that_changes_a_kept_node_is_refused_with_its_name(newer: Definition) -> None:
    assert plan_resume(BEFORE, ENDS, newer) == Differing(("a",))
