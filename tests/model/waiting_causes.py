"""Which causes `why` may name for a job, by its state and by the column that says what it waits for."""

from domain.jobs.job import State
from domain.jobs.monitoring.job_facts import JobFacts
from domain.jobs.monitoring.why import WaitCause as Cause

HELD_OR_ENDED = {
    State.SUCCEEDED: {Cause.SUCCEEDED, Cause.RUN_GOES_ON, Cause.APPROVAL, Cause.EVENT},
    State.FAILED: {Cause.FAILED},
    State.DEAD: {Cause.DEAD},
    State.CANCELED: {Cause.CANCELED},
    State.CLAIMED: {Cause.CLAIMED, Cause.WORKER_SILENT},
    State.RUNNING: {Cause.RUNNING, Cause.WORKER_SILENT},
}
OVER = {Cause.CANCELING, Cause.EXPIRED}
NOT_DUE = {Cause.SCHEDULED, Cause.RETRY, Cause.SNOOZED, Cause.RETURNED}
DUE = {Cause.PUBLISHED, Cause.PUT_OFF, Cause.RELAY}


def causes_of(job: JobFacts) -> set[Cause]:
    """The causes of which one must be named."""
    if job.state is not State.QUEUED:
        return HELD_OR_ENDED[job.state]
    if job.parked_by is not None:
        kept = {Cause.CONCURRENCY_KEY} if job.parked_by.startswith("key:") else {Cause.GATE}
        return OVER | kept | {Cause.LET_OUT}
    if job.backlog_since is not None:
        return OVER | {Cause.BACKLOG, Cause.NO_WORKER, Cause.GATE}
    return OVER | (NOT_DUE if job.run_at > job.now else DUE | {Cause.NO_WORKER, Cause.GATE})
