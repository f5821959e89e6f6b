"""Does a job that ended without success again, as a new job that names the old one and goes on where that stood."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import NewJob, Origin, State
from storage.audit import deeds
from storage.ledger import ledger
from storage.operators import replays
from storage.operators.replays import Ruling
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

NO_RULINGS: Mapping[str, Ruling] = {}


def retry(
    tx: Transaction,
    job_id: UUID,
    *,
    by: Origin,
    reason: str,
    org_id: UUID | None = None,
    rulings: Mapping[str, Ruling] = NO_RULINGS,
) -> UUID:
    """Enqueue a failed, canceled or dead job again; returns the new job's id. The relay publishes it.

    A dead job is replayed by its dead letter, which is closed. Raises `Gone` when there is no such job (of the org),
    `Conflict` when it has not ended, has succeeded or was retried before, or when another job has its key, and
    `Invalid` for a doubtful effect without a ruling.
    """
    check_text("reason", reason)
    rows = tx.run("lock_job_to_retry", job_id=job_id, org_id=org_id)
    if not rows:
        raise Gone(f"there is no job {job_id}")
    job = rows[0]
    _check(job)
    if job.state == State.DEAD:
        return replays.replay(tx, job_id, by=by, reason=reason, rulings=rulings)
    replays.rule(tx, job, rulings, by)
    tx.run("release_ended_job", job_id=job_id)
    again = ledger.enqueue(tx, [_again(job, by)], publisher=False, hint_timeout=timedelta(0))[0]
    if not again.created:
        raise Conflict(f"job {again.job_id} has the same key; let it end or cancel it first")
    tx.run("hand_over_effects", source=job_id, target=again.job_id)
    tx.run("hand_over_shared_effects", source=job_id, target=again.job_id)
    tx.run("copy_steps", source=job_id, target=again.job_id)
    facts = {"replay_job_id": str(again.job_id), "reason": reason}
    deeds.record(tx, "job.replayed", facts, by=by, org_id=job.org_id, job=(job_id, job.job_type))
    return again.job_id


def _check(job: Row) -> None:
    state = State(job.state)
    if not state.final:
        raise Conflict(f"job {job.job_id} is {state.value}: it has not ended")
    if state is State.SUCCEEDED:
        raise Conflict(f"job {job.job_id} has succeeded; enqueue a new one")
    if job.replay_job_id:
        raise Conflict(f"job {job.job_id} was retried already, as job {job.replay_job_id}")


def _again(job: Row, by: Origin) -> NewJob:
    """The new job. Like the replay of a dead letter, it keeps the correlation of the whole chain."""
    return NewJob(
        job_type=job.job_type,
        org_id=job.org_id,
        payload=job.payload,
        payload_version=job.payload_version,
        project_id=job.project_id,
        origin=by._replace(correlation_id=job.correlation_id, traceparent=job.traceparent),
        retry_base_s=job.retry_base_s,
        retry_cap_s=job.retry_cap_s,
        idempotency_key=replays.named_key(job, job.job_type, job.org_id),
        folds=True,  # the operator is told which job has the key
        priority=job.priority,
        parent_id=job.parent_id,
        replay_of=job.job_id,
    )
