"""The planning family: conflicts of a plan, and plans that people may apply (docs: planning.md)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from typing import TypeVar
from uuid import UUID

from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PLANNING
from domain.payloads.planning import (
    MOST_ALTERNATIVES,
    MOST_SECONDS,
    ScanConflictsPayload,
    SuggestAssignmentsPayload,
)
from domain.planning.conflicts import PlanConflict, words
from domain.planning.explain import describe, explain, kept_conflicts
from domain.planning.files.artifacts import STORE
from domain.planning.model import Plan, Span, Weights
from domain.planning.programme import Programme, SolverAnswer, by_id
from domain.planning.rank import Proposal, suggest
from engine.catalogue import job
from engine.context import JobContext
from observability.on_demand import on_demand
from providers.ports.solver import Solver
from storage.planning import plans, run_sheets
from storage.planning.plans import Suggested
from storage.postgres.database import Transaction
from tasks.planning.files.artifact_files import keep_document, record_file, reference_to
from tasks.planning.files.projects import project_of

T = TypeVar("T")

MOST_LISTED = 200
"""Conflicts in a job's output, and of pinned assignments in a proposal; all are counted."""
MOST_SLOTS_LISTED = 10
"""Of each of these conflicts: one of hours has all slots of a day or a week, and an output may have 1 MiB."""
MOST_CANDIDATES = 10
"""People of each slot in a proposal's reasons, the chosen first, then the nearest; the others are counted."""
MOST_IN_FILE = 200_000
"""The same in the artifact, of all slots of all its plans: ten plans of 200 slots and 100 people, some 40 MB."""
SLACK = timedelta(minutes=5)
"""For reading and building the plan, for explaining ten proposals for the largest (docs: plans.md#measured), and for
a solver that looks at its time between long steps."""


@job(queue=Queue.PLANNING, retry=PLANNING, deadline=timedelta(minutes=5), providers=(STORE,))
def scan_conflicts(ctx: JobContext, payload: ScanConflictsPayload) -> Outcome:
    """Find the rules that the plan breaks in a time. A conflict has the same id in each scan."""
    window = Span(payload.since, payload.until)
    with ctx.read_snapshot() as tx:
        found = plans.find_conflicts(tx, project_of(ctx, tx, payload.project_id), window)
    told: JsonObject = {"counts": {kind.value: count for kind, count in found.counts.items()}}
    conflicts = [_described(one) for one in found.conflicts]
    kept = {"conflicts": conflicts, "left_out": found.total - len(conflicts)}
    document = payload.document() | told | kept
    made = keep_document(ctx, "conflicts", "conflicts.json", document, project_id=payload.project_id)
    first = [_with_first_slots(one) for one in conflicts[:MOST_LISTED]]
    listed = {"conflicts": first, "left_out": max(0, found.total - MOST_LISTED)}
    return Done(told | listed | reference_to(made), writes=lambda tx: record_file(tx, ctx.org_id, made))


@job(
    queue=Queue.PLANNING,
    retry=PLANNING,
    deadline=timedelta(seconds=MOST_SECONDS) * MOST_ALTERNATIVES + SLACK,
    providers=(STORE,),
)
def suggest_assignments(ctx: JobContext, payload: SuggestAssignmentsPayload) -> Outcome:
    """Find the best plans, proved or with how much better a plan could be, and keep each as a proposal."""
    with ctx.read_snapshot() as tx:
        project = project_of(ctx, tx, payload.project_id)
        if payload.run_sheet_id is not None:
            run_sheets.find(tx, project.ref, payload.run_sheet_id)
        plan = plans.load(tx, project, payload.run_sheet_id, Weights.from_json(payload.weights or {}))
    found, ended = _solved(ctx, plan, payload) if plan.slots else ((), "no_slots")
    document, reasons = _whole(ctx, plan, found)
    about = payload.document() | {"weights": asdict(plan.weights), "ended": ended, "proposals": document}
    made = keep_document(ctx, "suggestion", "suggestion.json", about, project_id=payload.project_id)
    by = Suggested(project.ref, ctx.job.job_id, payload.run_sheet_id, plan)

    def keep(tx: Transaction) -> JsonObject:
        record_file(tx, ctx.org_id, made)
        pairs = zip(found, reasons, strict=True)
        added = [
            _summary(plans.add_proposal(tx, by, proposal, rank=rank, reasons=said), proposal, said)
            for rank, (proposal, said) in enumerate(pairs, 1)
        ]
        return {"proposals": added}

    return Done({"ended": ended, **reference_to(made)}, writes=keep)


def _solved(ctx: JobContext, plan: Plan, payload: SuggestAssignmentsPayload) -> tuple[Sequence[Proposal], str]:
    """The best plans, and why there are no more."""
    solver: Solver = on_demand("providers.highs.solver:HighsSolver")()
    solved: list[int] = []

    def solve(wanted: Programme, start: Sequence[int] | None) -> SolverAnswer:
        ctx.progress({"plans": len(solved), "of": payload.alternatives})
        answer = solver.solve(wanted, start, seconds=payload.time_limit_s, check=ctx.check)
        solved.append(len(wanted.choices))
        return answer

    wanted = {"alternatives": payload.alternatives, "differ": payload.differ}
    suggestion = suggest(plan, solve, **wanted, check=ctx.check_often)
    return suggestion.proposals, suggestion.ended.value


def _whole(ctx: JobContext, plan: Plan, found: Sequence[Proposal]) -> tuple[list[JsonObject], list[JsonObject]]:
    """Each plan as the artifact has it, with all its reasons; and the shorter reasons that stand in its row."""
    document: list[JsonObject] = []
    rows: list[JsonObject] = []
    most = max(MOST_CANDIDATES, MOST_IN_FILE // max(1, len(plan.slots) * len(found)))
    for rank, proposal in enumerate(found, 1):
        slots = list(_checked(ctx, describe(plan, explain(plan, proposal.choices), most)))
        kept = _kept_conflicts(ctx, plan, proposal)
        rows.append({"slots": _shortened(slots, MOST_CANDIDATES), **kept})
        facts = {"rank": rank, "points": asdict(proposal.points), "total": proposal.points.total}
        proof = {"most": proposal.most, "is_proved": proposal.is_proved, "gap_percent": proposal.gap_percent}
        document.append({**facts, **proof, "slots": slots, **kept})
    return document, rows


def _kept_conflicts(ctx: JobContext, plan: Plan, proposal: Proposal) -> JsonObject:
    """The rules that pinned assignments break: the first of them, and how many others there are."""
    slots, people = by_id(plan)
    found = _checked(ctx, kept_conflicts(plan, proposal.choices))
    first = [_described(one) | {"words": words(one, slots, people)} for one in islice(found, MOST_LISTED)]
    return {"kept_conflicts": first, "kept_left_out": sum(1 for _ in found)}


def _checked(ctx: JobContext, steps: Iterable[T]) -> Iterator[T]:
    """The same steps, between which a cancel and the end of the worker are looked for."""
    for step in steps:
        ctx.check_often()
        yield step


def _shortened(slots: Sequence[JsonObject], most: int) -> list[JsonObject]:
    """The slots with so many candidates each, and how many others there are."""
    return [
        slot
        | {
            "candidates": slot["candidates"][:most],
            "others": slot["others"] + max(0, len(slot["candidates"]) - most),
        }
        for slot in slots
    ]


def _described(conflict: PlanConflict) -> JsonObject:
    return {
        "conflict_id": str(conflict.conflict_id),
        "kind": conflict.kind.value,
        "collaborator_id": str(conflict.collaborator_id),
        "slot_ids": [str(one) for one in conflict.slot_ids],
        "detail": conflict.detail,
        "minutes": conflict.minutes,
    }


def _with_first_slots(conflict: JsonObject) -> JsonObject:
    """A conflict with so many of its slots, and how many others there are."""
    slot_ids = conflict["slot_ids"]
    first = slot_ids[:MOST_SLOTS_LISTED]
    return conflict | {"slot_ids": first, "slots_left_out": len(slot_ids) - len(first)}


def _summary(proposal_id: UUID, proposal: Proposal, reasons: JsonObject) -> JsonObject:
    return {
        "proposal_id": str(proposal_id),
        "points": proposal.points.total,
        "is_proved": proposal.is_proved,
        "gap_percent": proposal.gap_percent,
        "open_places": sum(one["open_places"] for one in reasons["slots"]),
        "kept_conflicts": len(reasons["kept_conflicts"]) + reasons["kept_left_out"],
    }
