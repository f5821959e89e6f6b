"""Which nodes of an ended run are done again, and which are kept as they are (docs: workflows.md#resume).

Done again is what made the run fail or was canceled, and all that comes after it: so each need of a kept node is kept.
A failure that a node with `run_if: failed` has dealt with is kept, as is what that node did.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from domain.workflows.advance import NodeEnd
from domain.workflows.definition import Definition


class Redo(StrEnum):
    """How a node is done again."""

    MEND = "mend"
    """All its needs are kept. What it evaluated is kept, items that succeeded are, and a run of its own is resumed."""
    ANEW = "anew"
    """A need of it is done again, or it is new: its row is as when the run began, and its items are gone."""


class Plan(NamedTuple):
    """What a resume does."""

    again: Mapping[str, Redo]
    pending: Mapping[str, int]
    """Of each node of `again`: how many of its needs are, too."""
    kept: frozenset[str]
    dropped: frozenset[str]
    """Nodes that the newer version lacks."""


class Differing(NamedTuple):
    """The resume is refused: these nodes would be kept, and the newer version has them otherwise, or not at all."""

    nodes: tuple[str, ...]


def plan_resume(
    definition: Definition, ends: Mapping[str, NodeEnd], newer: Definition | None = None
) -> Plan | Differing:
    """What the next round of an ended run does, by its own definition or by a newer one."""
    raise NotImplementedError
