"""The order of a workflow's nodes: circles, what comes before what, and columns from the first nodes to the last."""

from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

Needs = Mapping[str, Collection[str]]
"""By node, those that must have ended before it."""

IsBefore = Callable[[str, str], bool]
"""Whether the first of two nodes has ended when the second begins."""

MOST_CIRCLES = 20
"""Circles that are named: whoever has written more reads the document anew before they have mended these."""


def circles(needs: Needs) -> tuple[tuple[str, ...], ...]:
    """Circles among the nodes, each from its first node by name, that one again at the end; each has a need of its own.

    With `MOST_CIRCLES` there may be more.
    """
    left = {name: set(of) for name, of in needs.items()}
    found: list[tuple[str, ...]] = []
    while len(found) < MOST_CIRCLES and (around := _circle(left)):
        first = min(range(len(around) - 1), key=around.__getitem__)
        found.append((*around[first:-1], *around[: first + 1]))
        left[found[-1][1]].discard(found[-1][0])
    return tuple(found)


def _circle(needs: Needs) -> list[str]:
    """Nodes of which each is a need of the next, the first again at the end; empty when there is no circle."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def order(needs: Needs) -> IsBefore:
    """Which nodes come before which, at whatever distance; raises `graphlib.CycleError`."""
    names = list(TopologicalSorter(needs).static_order())
    bits = {name: 1 << number for number, name in enumerate(names)}
    before: dict[str, int] = {}
    for name in names:
        before[name] = 0
        for need in needs.get(name, ()):
            before[name] |= before[need] | bits[need]
    return lambda one, other: bool(before[other] & bits[one])


def descendants(of: Iterable[str], edges: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Those nodes, and all after them, by edges from upstream to downstream."""
    after: dict[str, list[str]] = {}
    for upstream, downstream in edges:
        after.setdefault(upstream, []).append(downstream)
    left = list(of)
    found = set(left)
    while left:
        new = [name for name in after.get(left.pop(), ()) if name not in found]
        found.update(new)
        left += new
    return frozenset(found)


def columns(needs: Needs) -> list[list[str]]:
    """The nodes, each in the column after the last of its needs; raises `graphlib.CycleError`."""
    column: dict[str, int] = {}
    for name in TopologicalSorter(needs).static_order():
        column[name] = 1 + max((column[need] for need in needs.get(name, ())), default=-1)
    made: list[list[str]] = [[] for _ in range(1 + max(column.values(), default=-1))]
    for name in needs:
        made[column[name]].append(name)
    return made
