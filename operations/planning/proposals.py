"""Proposals: plans that a job has suggested, and the one deed that makes one of them the plan."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Conflict
from domain.orgs.access.api_keys import Role
from domain.planning.fingerprint import difference, hash_of, parts_of
from domain.planning.model import Weights
from operations.call import Call
from operations.operation import Record, Route
from operations.pages import Page, Window
from operations.planning.projects import PLANNING, audit_of, ref_of
from operations.planning.run_sheets import editor_of
from storage.planning import plans, run_sheets
from storage.planning.plans import StoredProposal
from storage.planning.run_sheets import CHANGED, Editor
from storage.postgres.database import Transaction


class ProposalLine(Record):
    """A plan that was suggested."""

    plural: ClassVar = "proposals"
    columns: ClassVar = ("proposal_id", "rank", "total", "most", "is_proved", "created_at", "applied_at")
    proposal_id: UUID
    project_id: UUID
    job_id: UUID
    run_sheet_id: UUID | None = Field(description="Null: of all run sheets of the project.")
    rank: int = Field(description="The best of its job has 1.")
    total: int = Field(description="The points of the plan.")
    most: int = Field(description="What no plan in its place exceeds.")
    is_proved: bool
    created_at: datetime
    applied_at: datetime | None
    applied_by: str | None


class ProposalView(ProposalLine):
    """A plan that was suggested, with who would be in which slot, and why."""

    weights: dict[str, int]
    points: dict[str, int] = Field(description="By weight; travel and fairness take points off.")
    choices: list[dict[str, UUID]]
    reasons: dict[str, Any] = Field(description="For each slot its candidates; and rules that pinned people break.")


class AppliedProposal(Record):
    """What applying a proposal has changed."""

    proposal_id: UUID
    assigned: int
    unassigned: int
    unchanged: int
    applied_at: datetime


@PLANNING.look("proposals", Route("GET", "/projects/{project_id}/proposals"))
def list_proposals(call: Call, window: Window, project_id: UUID) -> Page[ProposalLine]:
    """List the proposals of a project, the newest first."""
    with call.reading() as tx:
        return window.records(tx, "list_proposals", ProposalLine, **ref_of(tx, call, project_id)._asdict())


@PLANNING.look("proposal", Route("GET", "/planning/proposals/{proposal_id}"))
def show_proposal(call: Call, proposal_id: UUID) -> ProposalView:
    """Show a proposal with its reasons."""
    with call.reading() as tx:
        return ProposalView.model_validate(plans.proposal(tx, call.org, proposal_id))


@PLANNING.deed(
    "apply",
    Route("POST", "/planning/proposals/{proposal_id}/apply"),
    role=Role.OPERATOR,
    events=(CHANGED, "proposal.applied"),
)
def apply_proposal(call: Call, proposal_id: UUID) -> AppliedProposal:
    """Make a proposal the plan. Refused with the difference when the plan has changed since it was suggested."""
    with call.writing() as tx:
        found = plans.proposal(tx, call.org, proposal_id)
        if found.applied_at is not None:
            raise Conflict(f"proposal_id: {found.applied_by} has applied it", code="proposal.applied")
        editor = editor_of(tx, call, found.project_id)
        named = None if found.run_sheet_id is None else [found.run_sheet_id]
        with run_sheets.changing(tx, editor, named):
            assigned, unassigned, unchanged = _make_it_so(tx, editor, found, call.name)
        applied_at = plans.mark_applied(tx, call.org, proposal_id, call.name)
        if applied_at is None:
            raise Conflict("proposal_id: somebody else has just applied it", code="proposal.applied")
        facts = {"proposal_id": str(proposal_id), "rank": found.rank}
        counts = {"assigned": assigned, "unassigned": unassigned}
        audit_of(tx, call, found.project_id, event="proposal.applied", **facts, **counts)
    return AppliedProposal(proposal_id=proposal_id, unchanged=unchanged, applied_at=applied_at, **counts)


def _make_it_so(tx: Transaction, editor: Editor, found: StoredProposal, by: str) -> tuple[int, int, int]:
    """Assign and unassign, while nobody else changes who is where; returns how many, and how many stay."""
    ref = editor.project.ref
    plan = plans.load(tx, editor.project, found.run_sheet_id, Weights.from_json(found.weights))
    parts = parts_of(plan)
    if hash_of(parts) != found.plan_hash:
        changes = "; ".join(difference(found.plan_parts or {}, parts))
        raise Conflict(f"proposal_id: the plan has changed since: {changes}", code="proposal.outdated")
    wanted = {(one.slot_id, one.collaborator_id) for one in found.chosen}
    stands = {(one.slot_id, one.collaborator_id) for one in plan.assignments}
    for pair in sorted(stands - wanted):
        run_sheets.unassign(tx, ref, pair)
    for pair in sorted(wanted - stands):
        run_sheets.assign(tx, ref, pair, is_pinned=False, by=by)
    return len(wanted - stands), len(stands - wanted), len(wanted & stands)
