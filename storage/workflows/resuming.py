"""Resumes an ended run: what failed or was canceled is done again, whoever asks."""

from uuid import UUID

from domain.jobs.failures import Conflict, Gone, Invalid
from domain.workflows.advance import RunState
from domain.workflows.definition import Definition, definition_of
from domain.workflows.resume import Differing, plan_resume
from storage.postgres.database import Transaction
from storage.workflows import definitions, nodes, runs
from storage.workflows.runs import Run

MOST_NAMED = 20
"""Nodes that a refusal names; it counts the others."""


def resume(tx: Transaction, run_id: UUID, version: int | None = None) -> Run:
    """Begin the next round of a run, by its own version or by another one; returns the run. As the ledger role only.

    Raises `Gone` without such a run, `Invalid` for a version that there is not, and `Conflict` for a run that has not
    ended or has nothing to do again, and with the nodes that would be kept and are otherwise in the other version.
    """
    run = runs.lock(tx, run_id).answer
    if run is None:
        raise Gone(f"there is no run {run_id}")
    if run.state is RunState.RUNNING:
        raise Conflict("run_id: the run has not ended")
    own = _definition(tx, run, run.version)
    newer = own if version is None else _definition(tx, run, version)
    plan = plan_resume(own, nodes.ends(tx, run_id), newer)
    if isinstance(plan, Differing):
        raise Conflict(f"version: these nodes would be kept, and are otherwise in version {version}: {_named(plan)}")
    if not plan.again and run.state is RunState.SUCCEEDED:
        raise Conflict("run_id: the run has succeeded: there is nothing to do again")
    runs.resume(tx, run, plan, newer, version or run.version)
    found = runs.get(tx, run_id)
    return found or run


def _definition(tx: Transaction, run: Run, version: int) -> Definition:
    stored = definitions.get(tx, run.org_id, run.workflow, version)
    if stored is None:
        raise Invalid("version", f"the workflow {run.workflow} has no version {version}")
    return definition_of(stored.document)


def _named(plan: Differing) -> str:
    more = len(plan.nodes) - MOST_NAMED
    return ", ".join(plan.nodes[:MOST_NAMED]) + (f", and {more} more" if more > 0 else "")
