"""The audit log beyond the moves of jobs: append only."""

from psycopg.types.json import Jsonb

from domain.jobs.job import ClaimedJob, JsonObject
from domain.orgs.privacy.redaction import redact
from storage.postgres.database import Transaction


def append(tx: Transaction, job: ClaimedJob, event: str, data: JsonObject) -> None:
    """Write an event of something that a held job did or found, with the job's whole context.

    Raises `ClaimLost`, and `Forbidden` for an event that the job's type does not list (`@job(audits=…)`).
    """
    tx.run("append_event", job_id=job.job_id, token=job.token, event=event, data=Jsonb(redact(data)))


def record(tx: Transaction, job: ClaimedJob, event: str, data: JsonObject) -> None:
    """Write an event of the engine about a job, held or not, with the job's whole context; as the ledger role only."""
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
        data=Jsonb(redact(data)),
    )
