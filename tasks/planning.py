"""The planning family: conflicts of a plan, and plans that people may apply (docs: planning.md)."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PLANNING
from domain.payloads.planning import (
    MOST_ALTERNATIVES,
    MOST_SECONDS,
    ScanConflictsPayload,
    SuggestAssignmentsPayload,
)
from domain.planning.conflicts import Conflict, ConflictKind, words
from domain.planning.explain import describe, explain, kept_conflicts
from domain.planning.model import Plan, Span, Weights
from domain.planning.programme import Answer, Programme
from domain.planning.rank import Proposal, suggest
from engine.catalogue import job
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.solver import Solver
from storage.planning import plans, projects, run_sheets
from storage.planning.plans import Suggested
from storage.planning.projects import Project, ProjectRef
from storage.postgres.database import Transaction

MOST_LISTED = 200
"""Conflicts in a job's output; all are counted."""
MOST_CANDIDATES = 10
"""People of each slot in a proposal's reasons, the chosen first, then the nearest; the others are counted."""
SLACK = timedelta(minutes=5)
"""For reading, building and explaining a plan, and for a solver that looks at its time between long steps."""


@job(queue=Queue.PLANNING, retry=PLANNING, deadline=timedelta(minutes=5))
def scan_conflicts(ctx: JobContext, payload: ScanConflictsPayload) -> Outcome:
    """Find the rules that the plan breaks in a time. A conflict has the same id in each scan."""
    window = Span(payload.since, payload.until)
    with ctx.read_snapshot() as tx:
        found = plans.find_conflicts(tx, _project(ctx, tx, payload.project_id), window)
    counts = Counter(one.kind for one in found)
    output: JsonObject = {
        "counts": {kind.value: counts[kind] for kind in ConflictKind},
        "conflicts": [_described(one) for one in found[:MOST_LISTED]],
        "left_out": max(0, len(found) - MOST_LISTED),
    }
    return Done(output)


@job(
    queue=Queue.PLANNING,
    retry=PLANNING,
    deadline=timedelta(seconds=MOST_SECONDS) * MOST_ALTERNATIVES + SLACK,
)
def suggest_assignments(ctx: JobContext, payload: SuggestAssignmentsPayload) -> Outcome:
    """Find the best plans, proved or with how much better a plan could be, and keep each as a proposal."""
    with ctx.read_snapshot() as tx:
        project = _project(ctx, tx, payload.project_id)
        if payload.run_sheet_id is not None:
            run_sheets.find(tx, project.ref, payload.run_sheet_id)
        plan = plans.load(tx, project, payload.run_sheet_id, Weights.from_json(payload.weights or {}))
    if not plan.slots:
        return Done({"proposals": [], "ended": "no_slots"})
    solver: Solver = on_demand("providers.highs.solver:HighsSolver")()
    solved: list[int] = []

    def solve(wanted: Programme, start: Sequence[int] | None) -> Answer:
        ctx.progress({"plans": len(solved), "of": payload.alternatives})
        answer = solver.solve(wanted, start, seconds=payload.time_limit_s, check=ctx.check)
        solved.append(len(wanted.choices))
        return answer

    suggestion = suggest(plan, solve, alternatives=payload.alternatives, differ=payload.differ)
    reasons = [_reasons(plan, one) for one in suggestion.proposals]
    ctx.check()
    by = Suggested(project.ref, ctx.job.job_id, payload.run_sheet_id, plan)

    def keep(tx: Transaction) -> JsonObject:
        pairs = zip(suggestion.proposals, reasons, strict=True)
        made = [
            _summary(plans.add_proposal(tx, by, proposal, rank=rank, reasons=said), proposal, said)
            for rank, (proposal, said) in enumerate(pairs, 1)
        ]
        return {"proposals": made}

    return Done({"ended": suggestion.ended.value}, writes=keep)


def _project(ctx: JobContext, tx: Transaction, project_id: UUID) -> Project:
    """The project of the payload, which is the job's where the job names one; raises `Invalid`, and `Gone`."""
    if ctx.job.project_id not in {None, project_id}:
        raise Invalid("payload.project_id", "is not the project of the job")
    return projects.project(tx, ProjectRef(ctx.org_id, project_id))


def _described(conflict: Conflict) -> JsonObject:
    return {
        "conflict_id": str(conflict.conflict_id),
        "kind": conflict.kind.value,
        "collaborator_id": str(conflict.collaborator_id),
        "slot_ids": [str(one) for one in conflict.slot_ids],
        "detail": conflict.detail,
        "minutes": conflict.minutes,
    }


def _reasons(plan: Plan, proposal: Proposal) -> JsonObject:
    """Why the plan is so, slot by slot, and the rules that pinned assignments break."""
    slots: list[dict[str, Any]] = describe(plan, explain(plan, proposal.choices))
    for slot in slots:
        candidates = slot["candidates"]
        slot |= {"candidates": candidates[:MOST_CANDIDATES], "others": max(0, len(candidates) - MOST_CANDIDATES)}
    kept = kept_conflicts(plan, proposal.choices)
    return {"slots": slots, "kept_conflicts": [_described(one) | {"words": words(one, plan)} for one in kept]}


def _summary(proposal_id: UUID, proposal: Proposal, reasons: JsonObject) -> JsonObject:
    return {
        "proposal_id": str(proposal_id),
        "points": proposal.points.total,
        "is_proved": proposal.is_proved,
        "gap_percent": proposal.gap_percent,
        "open_places": sum(one["open_places"] for one in reasons["slots"]),
        "kept_conflicts": len(reasons["kept_conflicts"]),
    }
