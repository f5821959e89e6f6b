"""The work of nodes and items begins: jobs, and runs of other workflows."""

import json
import os
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, KeysOf, NewJob
from domain.jobs.job_ids import NOISE, make_job_ids
from domain.payloads.payload import checked, payload_types
from domain.payloads.workflows import LARGEST_INPUT, AdvancePayload
from domain.workflows.advance import NodeError
from domain.workflows.definition import DEEPEST_RUN, MOST_RUNS, JobWork, Node, WorkflowWork
from domain.workflows.resume import ResumePlan, plan_resume
from engine.enqueue import enqueue_jobs
from storage.jobs import relay
from storage.workflows import nodes, runs
from storage.workflows.advancing import Begun, part
from storage.workflows.runs import Around, NewRun
from tasks.workflows.steps.advance import Advance
from tasks.workflows.steps.known import known_workflow, workflow_of

REFUSED = "invalid"
"""The code of a node whose job or run was refused with what it was given."""


class Piece(NamedTuple):
    """What is to be done for a node, or an item of a node."""

    node: Node
    item: int
    given: JsonObject
    child_run: UUID | None = None
    """The run that an earlier round has made for it, to be resumed."""


def begin(at: Advance, pieces: Sequence[Piece]) -> list[Begun]:
    """Begin work; what is refused has an error, and harms nothing else."""
    jobs = [piece for piece in pieces if isinstance(piece.node.work, JobWork)]
    begun = [_begun(at, piece, made) for piece, made in zip(jobs, _enqueue(at, jobs), strict=True)]
    others = (piece for piece in pieces if isinstance(piece.node.work, WorkflowWork))
    return begun + [_begun(at, piece, _begin_run(at, piece)) for piece in others]


def _begun(at: Advance, piece: Piece, made: UUID | NodeError) -> Begun:
    node = piece.node
    begun = Begun(node.name, piece.item, piece.given)
    if isinstance(made, NodeError):
        return begun._replace(error=made)
    until = None if node.timeout is None else at.run.read_at + node.timeout
    if isinstance(node.work, JobWork):
        return begun._replace(job_id=made, wait_until=until)
    return begun._replace(child_run=made, wait_until=until)


def _enqueue(at: Advance, pieces: Sequence[Piece]) -> list[UUID | NodeError]:
    """Enqueue jobs, each a child of the advance; of those that are refused, why."""
    made: dict[int, UUID | NodeError] = {}
    ready: list[tuple[int, NewJob]] = []
    for index, piece in enumerate(pieces):
        try:
            ready.append((index, checked(_job(at, piece))))
        except Invalid as refused:
            made[index] = _refused(refused)
    _enqueue_some(at, ready, made)
    return [made[index] for index in range(len(pieces))]


def _enqueue_some(at: Advance, jobs: Sequence[tuple[int, NewJob]], made: dict[int, UUID | NodeError]) -> None:
    """Enqueue all at once; where the database refuses one of them, halves, until it is found."""
    if not jobs:
        return
    try:
        with part(at.tx):
            answers = enqueue_jobs(at.tx, [job for _, job in jobs])
    except Invalid as refused:
        if len(jobs) == 1:
            made[jobs[0][0]] = _refused(refused)
            return
        middle = len(jobs) // 2
        _enqueue_some(at, jobs[:middle], made)
        _enqueue_some(at, jobs[middle:], made)
        return
    if not all(answer.publish for answer in answers):
        # The org is over its burst. The relay looks at such a backlog every 25 ms, longer than most nodes take.
        relay.wake(at.tx)
    for (index, _), answer in zip(jobs, answers, strict=True):
        made[index] = answer.job_id if answer.created else NodeError(REFUSED, "another job has the key of this node's")


def _job(at: Advance, piece: Piece) -> NewJob:
    """The job of a node or an item; of a type with unique keys it gets a key of its own, and folds into no other."""
    node, run, work = piece.node, at.run, piece.node.work
    if not isinstance(work, JobWork):
        raise TypeError(f"{node.name} runs no job")
    known = payload_types.find(work.job_type)
    is_unique = known is None or known.declaration.unique is not None
    return at.ctx.job.child(
        NewJob(
            work.job_type,
            run.org_id,
            piece.given,
            work.payload_version,
            idempotency_key=f"workflow:{run.run_id}:{node.name}:{piece.item}:{run.round}" if is_unique else None,
            keys_of=KeysOf.FLEET if is_unique else None,
            max_attempts=node.retry.max_attempts,
            retry_base_s=node.retry.base_s,
            retry_cap_s=node.retry.cap_s,
        )
    )


def _begin_run(at: Advance, piece: Piece) -> UUID | NodeError:
    """Begin the run of another workflow, or resume the one that an earlier round has begun."""
    try:
        with part(at.tx):
            return _resume_run(at, piece.child_run) if piece.child_run is not None else _new_run(at, piece)
    except Invalid as refused:
        return _refused(refused)


def _new_run(at: Advance, piece: Piece) -> UUID:
    node, run, ctx, work = piece.node, at.run, at.ctx, piece.node.work
    if not isinstance(work, WorkflowWork):
        raise TypeError(f"{node.name} has no run")
    if run.depth >= DEEPEST_RUN:
        raise Invalid("workflow", f"would be the run of a run more than {DEEPEST_RUN} deep")
    if work.name not in run.pins:
        raise Invalid("workflow", f"the org had no workflow {work.name} when the run began")
    root_run = run.root_run or run.run_id
    if at.runs is None:
        at.runs = runs.count_inside(at.tx, root_run, MOST_RUNS)
    if at.runs >= MOST_RUNS:
        raise Invalid("workflow", f"the outermost run {root_run} has {MOST_RUNS} runs inside it, and may have no more")
    size = len(json.dumps(piece.given, ensure_ascii=False).encode())
    if size > LARGEST_INPUT:
        raise Invalid("input", f"has {size} bytes, and may have {LARGEST_INPUT}")
    known = known_workflow(ctx, at.tx, work.name, run.pins[work.name])
    known.input_check.check(piece.given)
    (run_id,) = make_job_ids(1, ctx.now(), os.urandom(NOISE))
    around = Around(run.run_id, node.name, piece.item, run.depth + 1, root_run)
    new = NewRun(run_id, run.org_id, run.project_id, known.version, piece.given, around)
    runs.begin(at.tx, new, known.definition, by=ctx.job.origin)
    ctx.enqueue(at.tx, AdvancePayload(run_id=run_id))
    at.left -= len(known.definition.nodes)
    at.runs += 1
    return run_id


def _resume_run(at: Advance, run_id: UUID) -> UUID:
    """Resume the run of a node; raises `Invalid` where it cannot be."""
    child = runs.lock(at.tx, run_id).answer
    if child is None:
        raise Invalid("workflow", "the run of the node is gone")
    known = workflow_of(at.ctx, at.tx, child)
    plan = plan_resume(known.definition, nodes.ends(at.tx, run_id))
    if not isinstance(plan, ResumePlan):
        raise TypeError("a definition differs from itself")
    runs.begin_round(at.tx, child, plan, known.definition, child.version)
    at.ctx.enqueue(at.tx, AdvancePayload(run_id=run_id))
    at.left -= len(plan.again)
    return run_id


def _refused(refused: Invalid) -> NodeError:
    return NodeError(REFUSED, refused.reason[:1000])
