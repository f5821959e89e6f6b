"""Messages that could not become jobs: which task, which field, why. Their content is not kept."""

from psycopg.types.json import Jsonb

from domain.jobs.job import NewJob
from storage.postgres.database import Transaction


def record(tx: Transaction, *, task: str, task_id: str, field: str, reason: str) -> None:
    """Keep one refusal."""
    tx.raw(
        "insert into refused_messages (task, task_id, field, reason)"
        " values (left(%(task)s, 200), left(%(task_id)s, 200), left(%(field)s, 200), left(%(reason)s, 2000))",
        {"task": task, "task_id": task_id, "field": field, "reason": reason},
    )


def write_dead_letter(tx: Transaction, job: NewJob) -> bool:
    """Insert a job of an unknown type as a dead letter; false when the catalogue knows its type."""
    origin = job.origin
    rows = tx.run(
        "insert_dead_on_arrival",
        id=job.job_id,
        org_id=job.org_id,
        project_id=job.project_id,
        job_type=job.job_type,
        payload=Jsonb(job.payload),
        payload_version=job.payload_version,
        key=job.idempotency_key,
        actor_type=origin.actor_type.value,
        actor_id=origin.actor_id,
        request_id=origin.request_id,
        correlation_id=origin.correlation_id,
        traceparent=origin.traceparent,
    )
    return bool(rows)
