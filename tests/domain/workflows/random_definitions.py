"""Random workflows of up to twelve nodes, and how the work of each node would end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from domain.workflows.definition import Definition, definition_of

NAMES = [f"n{number}" for number in range(12)]
WORK: list[Mapping[str, Any]] = [
    {"job": "gmail.sync"},
    {"workflow": "inner"},
    {"wait": {"event": "paid"}},
    {"wait": {"until": "PT1H"}},
    {"wait": {"approval": "Go on?", "show": "${input.shown}"}},
]


@dataclass(frozen=True)
class Script:
    """A workflow, what its expressions give, and how its work ends."""

    definition: Definition
    input: Mapping[str, Any]
    gives: Mapping[str, object]
    """Of each node's `when`; True where it has none."""
    outcomes: Mapping[str, list[bool]] = field(repr=False)
    """Whether the work of a node succeeds: once, or for each item."""


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """A workflow and its endings."""
    nodes: dict[str, Any] = {}
    given: dict[str, Any] = {"shown": "text"}
    gives: dict[str, object] = {}
    outcomes: dict[str, list[bool]] = {}
    for name in NAMES[: draw(st.integers(1, len(NAMES)))]:
        needs = draw(st.lists(st.sampled_from(list(nodes)), max_size=4, unique=True)) if nodes else []
        work = draw(st.sampled_from(WORK))
        node = {**work, "needs": needs}
        if needs:
            node["run_if"] = draw(st.sampled_from(["succeeded", "not_failed", "failed", "failed", "done"]))
        gives[name] = draw(st.sampled_from([True, True, True, True, False, "neither"]))
        if gives[name] is not True or draw(st.booleans()):
            node["when"], given[f"when_{name}"] = f"${{input.when_{name}}}", gives[name]
        outcomes[name] = [draw(st.sampled_from([True, True, True, False]))]
        if "wait" not in work and draw(st.booleans()):
            node["for_each"] = f"${{input.items_{name}}}"
            node["limit"] = draw(st.none() | st.integers(1, 3))
            outcomes[name] = draw(st.lists(st.sampled_from([True, True, True, False]), max_size=5))
            given[f"items_{name}"] = list(range(len(outcomes[name])))
        nodes[name] = node
    document = {"name": "random", "input": {"type": "object"}, "nodes": nodes}
    return Script(definition_of(document), given, gives, outcomes)
