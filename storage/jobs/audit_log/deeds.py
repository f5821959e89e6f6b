"""What people did, in the audit log: every decision of a person has an entry."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject, Origin
from domain.orgs.privacy.redaction import redact
from storage.postgres.database import Transaction


def record(  # noqa: PLR0913 - an event, and what it is about
    tx: Transaction,
    event: str,
    data: JsonObject,
    *,
    by: Origin,
    org_id: UUID,
    project_id: UUID | None = None,
    job: tuple[UUID, str] | None = None,
) -> None:
    """Append one event about an org, about a project of it, or about a job of it, given as its id and type."""
    job_id, job_type = job or (None, None)
    request_id = by.request_id or str(uuid4())
    tx.run(
        "append_audit",
        event=event,
        org_id=org_id,
        project_id=project_id,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
        request_id=request_id,
        correlation_id=by.correlation_id or request_id,
        job_id=job_id,
        job_type=job_type,
        attempt=None,
        data=Jsonb(redact(data)),
    )


class JobEvent(NamedTuple):
    """What was done to one of several jobs."""

    job_id: UUID
    job_type: str
    org_id: UUID
    data: JsonObject


def record_each(tx: Transaction, event: str, of: Sequence[JobEvent], *, by: Origin) -> None:
    """Append an event about each of several jobs."""
    request_id = by.request_id or str(uuid4())
    tx.run(
        "append_audits",
        event=event,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
        request_id=request_id,
        correlation_id=by.correlation_id or request_id,
        job_ids=[one.job_id for one in of],
        job_types=[one.job_type for one in of],
        org_ids=[one.org_id for one in of],
        data=[Jsonb(redact(one.data)) for one in of],
    )
