"""What a run of a workflow comes to, as plainly as it can be put: the rules are compared with this."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from domain.workflows.definition import Definition


class Ended(NamedTuple):
    state: str
    because: str | None = None


def interpret(
    definition: Definition, gives: Mapping[str, object], good: Mapping[str, Sequence[bool]], kept: Mapping[str, Ended]
) -> dict[str, Ended]:
    """The end of each node, by what its `when` gives, and whether its work succeeds: once, or for each item."""
    ends = dict(kept)
    for name, node in ((name, node) for name, node in definition.nodes.items() if name not in kept):
        states = ["failed" if ends[need].because == "upstream_failed" else ends[need].state for need in node.needs]
        bad, some, every = "failed" in states, "succeeded" in states, set(states) <= {"succeeded"}
        if not {"succeeded": every, "not_failed": some and not bad, "failed": bad, "done": True}[node.run_if]:
            why = "nothing_failed" if node.run_if == "failed" else "upstream_failed" if bad else "upstream_skipped"
            ends[name] = Ended("skipped", why)
        elif gives[name] is False:
            ends[name] = Ended("skipped", "when")
        else:
            ends[name] = Ended("succeeded" if gives[name] is True and all(good[name]) else "failed")
    return ends


def is_handled(definition: Definition, ends: Mapping[str, Ended], name: str) -> bool:
    """Whether a failure led to a node with `run_if: failed` that succeeded: at once, or past nodes that it stopped."""
    for node in (node for node in definition.nodes.values() if name in node.needs):
        end, rescues = ends[node.name], node.run_if == "failed"
        stopped = end.because == "upstream_failed" or (rescues and end.state == "failed")
        if (rescues and end.state == "succeeded") or (stopped and is_handled(definition, ends, node.name)):
            return True
    return False
