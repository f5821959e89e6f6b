"""The audit log beyond the moves of jobs: append only."""

from psycopg.types.json import Jsonb

from domain.jobs.job import ClaimedJob, JsonObject
from storage.postgres.database import Transaction


def append(tx: Transaction, job: ClaimedJob, event: str, data: JsonObject) -> None:
    """Write an event of something that a job did or found, with the job's whole context."""
    tx.run(
        "append_audit",
        event=event,
        org_id=job.org_id,
        project_id=job.project_id,
        actor_type=job.origin.actor_type.value,
        actor_id=job.origin.actor_id,
        request_id=job.origin.request_id,
        correlation_id=job.origin.correlation_id,
        job_id=job.job_id,
        job_type=job.job_type,
        attempt=job.attempt,
        data=Jsonb(data),
    )
