"""The bulk actions' family: what people asked for is done to all jobs that a filter matches, batch by batch."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from domain.jobs.failures import Permanent
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.payloads.bulk_actions import RunBulkActionPayload
from engine.catalogue import job
from engine.context import JobContext
from operations.jobs.bulk_steps import LOCKED, carry_out
from storage.jobs import audit
from storage.jobs.replays import bulk_actions
from storage.jobs.replays.bulk_actions import BulkAction, BulkOutcome, BulkSubject, Place
from storage.postgres.database import Transaction

BATCH = 200
"""Jobs per transaction at most: a fraction of a second's work. A slow pace has fewer: those of its minute."""
MOST_RETURNS = 900
"""Batches that may begin later before another job goes on: from the thousandth on each would spend an attempt."""
REST = timedelta(seconds=5)
"""How long jobs rest of which somebody has locked something, when all others are done."""
MOST_TRIES = 60
"""Rests in vain after which a job is skipped: five minutes."""


@job(queue=Queue.MAINTENANCE, on_end="bulk_job_ended", hears_success=False, audits=("bulk.finished", "bulk.aborted"))
def run(ctx: JobContext, payload: RunBulkActionPayload) -> Outcome:
    """Go on with a bulk action, at its pace, until it has come to the end or somebody has aborted it.

    Each batch is one transaction with what became of its jobs, so that none is done twice whenever the job is cut off.
    Between batches that the pace sets apart the job holds no slot.
    """
    ctx.at_pace(lambda: _batch(ctx, payload))
    action = _read(ctx, payload)
    if action is None or action.state in {"aborted", "proposed"}:
        # Of one that is proposed somebody has enqueued the job by hand: another person's `resume` enqueues its own.
        return Done({"state": "aborted" if action is None else action.state})
    if action.state == "finished" or (action.after_id is None and action.put_off == 0):
        return Done({"state": "finished", **_finish(ctx, action)})
    if ctx.job.returns >= MOST_RETURNS:
        return Done({"state": "running"}, children=(payload.job(org_id=ctx.org_id, run_at=action.next_batch_at),))
    return Snooze(action.next_batch_at, "the bulk action goes on at its pace")


def _batch(ctx: JobContext, payload: RunBulkActionPayload) -> bool:
    """Do one batch, unless it is too early; says whether another may begin."""
    action = _read(ctx, payload)
    if action is None or action.state != "running" or action.next_batch_at > ctx.now():
        return False
    if action.after_id is None:
        return _batch_again(ctx, action)
    with ctx.fleet() as tx:
        place = Place(action.after_id, action.frozen_at, ctx.now())
        found = bulk_actions.match(tx, action.verb, action.filter, place, limit=_size(action))
        wanted = bulk_actions.unhandled(tx, action.bulk_id, found.subjects)
        why = bulk_actions.stop(tx, action.bulk_id, wanted)
        if why is not None:
            audit.append(tx, ctx.job, "bulk.aborted", {"bulk_id": str(action.bulk_id), "reason": why})
            return False
    _carry_out_all(ctx, action, wanted)
    with ctx.fleet() as tx:
        bulk_actions.advance(tx, action.bulk_id, found.after_id, len(wanted))
    ctx.progress({"done": action.done + len(wanted)})
    return True


def _batch_again(ctx: JobContext, action: BulkAction) -> bool:
    """Try those once more of which somebody had locked something."""
    with ctx.fleet() as tx:
        found = bulk_actions.come_again(tx, action.bulk_id, _size(action))
        given_up = [BulkOutcome(one.subject, "skipped", one.reason) for one in found if one.tries >= MOST_TRIES]
        bulk_actions.record(tx, action.bulk_id, given_up)
    if not found:
        return False
    wanted = [one.subject for one in found if one.tries < MOST_TRIES]
    _carry_out_all(ctx, action, wanted)
    with ctx.fleet() as tx:
        bulk_actions.rest(tx, action.bulk_id, REST, len(wanted))
    return False


def _size(action: BulkAction) -> int:
    """How many jobs a batch has."""
    return min(BATCH, action.per_minute)


def _carry_out_all(ctx: JobContext, action: BulkAction, some: Sequence[BulkSubject]) -> None:
    """Do it to these together, or apart where one of them is locked or refused."""

    def carry_out_some(tx: Transaction, part: Sequence[BulkSubject]) -> JsonObject:
        left = bulk_actions.unhandled(tx, action.bulk_id, part)
        bulk_actions.record(tx, action.bulk_id, carry_out(tx, action, left))
        return {}

    try:
        locked = ctx.for_orgs(some, carry_out_some, Counter())
        outcomes = [BulkOutcome(one, "again", LOCKED) for one in locked]
    except Permanent as why:
        if len(some) > 1:
            half = len(some) // 2
            _carry_out_all(ctx, action, some[:half])
            _carry_out_all(ctx, action, some[half:])
            return
        outcomes = [BulkOutcome(one, "skipped", str(why)[:1000]) for one in some]
    if outcomes:
        with ctx.fleet() as tx:
            bulk_actions.record(tx, action.bulk_id, outcomes)


def _read(ctx: JobContext, payload: RunBulkActionPayload) -> BulkAction | None:
    with ctx.fleet() as tx:
        return bulk_actions.get(tx, payload.bulk_id)


def _finish(ctx: JobContext, action: BulkAction) -> JsonObject:
    with ctx.fleet() as tx:
        ended = bulk_actions.finish(tx, action.bulk_id)
        facts = {"done": action.done, "skipped": action.skipped}
        if ended:
            audit.append(tx, ctx.job, "bulk.finished", {"bulk_id": str(action.bulk_id), **facts})
    return facts
