"""Definitions as runs need them again and again; a process reads a version once, and anew when it was written anew.

An erasure takes a person out of a version, and what a process kept would put them into new jobs.
"""

from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.workflows.definition import Definition, EventWait, JobWork, WorkflowWork, definition_of
from domain.workflows.inputs import InputCheck
from engine.context import JobContext
from storage.postgres.database import Transaction
from storage.workflows import definitions
from storage.workflows.runs import Run

MOST_KNOWN = 50
"""Definitions that a process keeps: some tens of megabytes at the very most."""


@dataclass(frozen=True)
class KnownWorkflow:
    """A version of a workflow, and what follows from it alone."""

    definition: Definition
    version: int
    written_by: str
    """The transaction that had written the version when it was read."""

    @cached_property
    def input_check(self) -> InputCheck:
        """What its input must be."""
        return InputCheck(self.definition.input_schema)

    @cached_property
    def has_items(self) -> bool:
        """Whether a node's work is done for each item of a list."""
        return any(node.has_items for node in self.definition.nodes.values())

    @cached_property
    def has_events(self) -> bool:
        """Whether a node waits for an event."""
        return any(isinstance(node.work, EventWait) for node in self.definition.nodes.values())

    @cached_property
    def has_times(self) -> bool:
        """Whether a node's time may be over."""
        return any(
            node.timeout is not None or not isinstance(node.work, JobWork | WorkflowWork)
            for node in self.definition.nodes.values()
        )


class KnownWorkflows:
    """The workflows that a process knows."""

    def __init__(self) -> None:
        """Know none."""
        self._known: dict[tuple[UUID, str, int], KnownWorkflow] = {}

    def of_run(self, tx: Transaction, run: Run) -> KnownWorkflow:
        """The version to which a run keeps."""
        known = self._known.get((run.org_id, run.workflow, run.version))
        if known is not None and known.written_by == run.written_by:
            return known
        return self._read(tx, run.org_id, run.workflow, run.version)

    def get(self, tx: Transaction, org_id: UUID, name: str, version: int | None) -> KnownWorkflow:
        """A version of a workflow; None is the latest. Raises `Invalid` where the org has none."""
        known = None if version is None else self._known.get((org_id, name, version))
        if known is not None and known.written_by == definitions.writer(tx, org_id, name, known.version):
            return known
        return self._read(tx, org_id, name, version)

    def _read(self, tx: Transaction, org_id: UUID, name: str, version: int | None) -> KnownWorkflow:
        stored = definitions.get(tx, org_id, name, version)
        if stored is None:
            named = name if version is None else f"{name} in version {version}"
            raise Invalid("workflow", f"the org has no workflow {named}")
        known = KnownWorkflow(definition_of(stored.document), stored.version, stored.written_by)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[org_id, name, stored.version] = known
        return known


def known_workflow(ctx: JobContext, tx: Transaction, name: str, version: int | None = None) -> KnownWorkflow:
    """A version of a workflow of the job's org; raises `Invalid`."""
    return _known(ctx).get(tx, ctx.org_id, name, version)


def workflow_of(ctx: JobContext, tx: Transaction, run: Run) -> KnownWorkflow:
    """The version to which a run keeps."""
    return _known(ctx).of_run(tx, run)


def _known(ctx: JobContext) -> KnownWorkflows:
    return ctx.shared("workflows", KnownWorkflows)
