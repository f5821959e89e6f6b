"""One transaction of a run's advance: what its steps know, and tell each other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from domain.workflows.advance import RunStop
from domain.workflows.definition import Node, WorkflowWork
from engine.context import JobContext
from storage.postgres.database import Transaction
from storage.postgres.transaction import Asked
from storage.workflows.advancing import NextNode, TakenEnds
from storage.workflows.runs import Run
from tasks.workflows.steps.known import KnownWorkflow

ROWS_OF_A_RUN = 50
"""What beginning the run of a node costs beside its nodes, in rows: eight statements. A transaction begins twenty."""


def rows_of(node: Node) -> int:
    """What beginning the work of a node, or of an item of a node, costs in rows."""
    return ROWS_OF_A_RUN if isinstance(node.work, WorkflowWork) else 1


@dataclass(slots=True)
class Advance:
    """A run that is taken further in one transaction, which holds the run's row."""

    ctx: JobContext
    tx: Transaction
    run: Run
    workflow: KnownWorkflow
    left: int
    """Rows that the transaction may still write: others wait for its locks."""
    late_at: datetime
    """From then on the transaction evaluates no further expressions, for the same reason."""
    ended: Asked[TakenEnds]
    """The ends that are counted next."""
    following: Asked[Sequence[NextNode]]
    """The nodes whose turn comes with these ends."""
    stop: RunStop | None = None
    """Why the run begins nothing any more."""
    succeeded: set[str] = field(default_factory=set)
    """Nodes of which this transaction has counted that they have succeeded."""
    runs: int | None = None
    """How many runs the outermost run has inside it; None as long as nobody has counted."""
    items: int = 0
    """Items that this transaction has given to nodes."""
    is_locked: bool = False
    """Whether somebody has locked rows that are to be written: another advance has to come soon."""
    again: bool = False
    """Whether there may be more to do at once."""

    @property
    def run_id(self) -> UUID:
        """The run's id."""
        return self.run.run_id

    @property
    def is_late(self) -> bool:
        """Whether the transaction has taken its time."""
        return self.ctx.now() >= self.late_at

    def wrote(self, rows: int) -> None:
        """Note rows that were written; of a transaction that is late none are left, so that the next one goes on."""
        self.left = 0 if self.is_late else self.left - rows
