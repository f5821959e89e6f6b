"""The workflows that a workflow runs: none leads back to it, and they are not nested too deep."""

from collections.abc import Callable, Iterator, Mapping

from domain.documents.faults import Fault
from domain.workflows.definition import DEEPEST_RUN, Definition

FindWorkflow = Callable[[str], Definition | None]
"""The newest version of another workflow of the org; the same name gives the same answer."""


def faults_of_calls(name: str, calls: Mapping[str, str], find: FindWorkflow) -> Iterator[Fault]:
    """What is wrong with the workflows that the nodes of the workflow `name` run; `calls` has them by node."""
    reasons = {called: _fault_of(name, called, find) for called in set(calls.values())}
    for node, called in calls.items():
        reason = reasons[called]
        if reason is not None:
            yield Fault(("nodes", node, "workflow"), reason)


def _fault_of(name: str, called: str, find: FindWorkflow) -> str | None:
    """The workflows are looked at level by level: a circle that does not lead back here is found by its depth."""
    if called != name and find(called) is None:
        return "there is no workflow of this name"
    level = {called: [name, called]}
    for _ in range(DEEPEST_RUN):
        if name in level:
            return f"is a circle: {' → '.join(level[name])}"
        found = [(way, find(last)) for last, way in level.items()]
        level = {
            inner: [*way, inner] for way, definition in found if definition for inner in sorted(definition.workflows)
        }
    if name in level:
        return f"is a circle: {' → '.join(level[name])}"
    if level:
        return f"has runs {DEEPEST_RUN + 1} deep, {DEEPEST_RUN} at most: {' → '.join(min(level.values()))}"
    return None
