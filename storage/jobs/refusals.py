"""Messages that could not become jobs: which task, which field, why, and sealed what they said."""

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.contract import OLDEST_VERSION
from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import NewJob
from storage.postgres.database import Transaction
from storage.postgres.retention import Retention

KEPT_FOR = timedelta(days=30)
"""As long as the key of a request: a client that is mended sends its messages again by then."""

RETENTION = Retention("refused_messages", "at", KEPT_FOR)

MOST_BYTES = 8 * 1024 * 1024
"""Of contents that a day keeps: over the 30 days a quarter of a gigabyte, whatever a client sends."""

MOST_CONTENTS = 1000
"""That a day keeps: a mistake repeats itself, and each refusal counts those of its day."""


def record(tx: Transaction, *, task: str, task_id: str, field: str, reason: str, sealed_content: bytes) -> None:
    """Keep one refusal; and what the message said, sealed, unless the last 24 hours have kept enough of that.

    Transactions at the same time do not see each other's: each may keep a day's share.
    """
    tx.run(
        "record_refusal",
        task=task,
        task_id=task_id,
        field=field,
        reason=reason,
        content=sealed_content,
        most_bytes=MOST_BYTES,
        most_contents=MOST_CONTENTS,
    )


def sealed_content(tx: Transaction, refusal_id: int) -> bytes | None:
    """What a refused message said, sealed; None where it was not kept. Raises `Gone` when there is no such message."""
    rows = tx.raw("select sealed_content from refused_messages where id = %(id)s", {"id": refusal_id})
    if not rows:
        raise Gone(f"there is no refused message {refusal_id}")
    content = rows[0].sealed_content
    return None if content is None else bytes(content)


def unknown_types(tx: Transaction, names: Collection[str]) -> frozenset[str]:
    """Those of the names that no job type of the fleet has, newer workers' types among them."""
    if not names:
        return frozenset()
    rows = tx.raw(
        "select n.name from unnest(%(names)s::text[]) as n (name)"
        " where not exists (select from job_types t where t.name = n.name or n.name = any (t.aliases))",
        {"names": list(names)},
    )
    return frozenset(row.name for row in rows)


def write_dead_letter(tx: Transaction, job: NewJob) -> UUID:
    """Insert a job of an unknown type as a dead letter; returns its id, or that of the job that has its key.

    Raises `Invalid` for a job without a key or an id of its own.
    """
    if job.job_id is None or job.idempotency_key is None:
        raise Invalid("idempotency_key", "is needed, and so is job_id")
    origin = job.origin
    rows = tx.run(
        "insert_dead_on_arrival",
        id=job.job_id,
        org_id=job.org_id,
        project_id=job.project_id,
        job_type=job.job_type,
        payload=Jsonb(job.payload),
        payload_version=job.payload_version or OLDEST_VERSION,
        key=job.idempotency_key,
        actor_type=origin.actor_type.value,
        actor_id=origin.actor_id,
        request_id=origin.request_id,
        correlation_id=origin.correlation_id,
        traceparent=origin.traceparent,
    )
    if rows:
        return UUID(str(rows[0].id))
    holders = tx.raw(
        "select job_id from idempotency_keys where org_id = %(org)s and key = %(key)s and kind = 'named'",
        {"org": job.org_id, "key": job.idempotency_key},
    )
    if holders:
        return UUID(str(holders[0].job_id))
    taken = tx.raw(
        "select from jobs where id = %(id)s and (org_id <> %(org)s or job_type <> %(job_type)s)",
        {"id": job.job_id, "org": job.org_id, "job_type": job.job_type},
    )
    if taken:
        raise Invalid("job_id", "belongs to another job")
    return job.job_id
