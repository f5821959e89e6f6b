"""Jobs to be enqueued, as the function `postroom.enqueue_jobs` reads them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import NewType
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob

Requests = NewType("Requests", str)
"""A JSON array with an object for each job."""


def as_requests(jobs: Sequence[NewJob], job_ids: Sequence[UUID] = ()) -> Requests:
    """What to say of jobs; ids are for those that bring none. Can be made while another statement runs.

    Raises `Invalid` for a payload that is too deep to be written; for one that is too deep to be read, the ledger does.
    """
    try:
        return Requests(json.dumps([_request(job, job_id) for job, job_id in zip_longest(jobs, job_ids)]))
    except RecursionError:
        raise Invalid("payload", "nests too deep") from None


def as_parameters(job: NewJob) -> Mapping[str, object]:
    """What `enqueue_job` is told of one job; raises `Invalid` as `as_requests` does."""
    try:
        payload = json.dumps(job.payload)
    except RecursionError:
        raise Invalid("payload", "nests too deep") from None
    return {
        "job_type": job.job_type,
        "org_id": job.org_id,
        "payload": payload,
        "payload_version": job.payload_version,
        "checked": job.is_checked,
        "job_id": job.job_id,
        "project_id": job.project_id,
        "idempotency_key": job.idempotency_key,
        "actor_type": job.origin.actor_type,
        "actor_id": job.origin.actor_id,
        "request_id": job.origin.request_id,
        "correlation_id": job.origin.correlation_id,
        "traceparent": job.origin.traceparent,
        "parent_id": job.parent_id,
        "replay_of": job.replay_of,
        "priority": _within_smallint(job.priority),
        "max_attempts": _within_smallint(job.max_attempts),
        **dict(_times(job)),
    }


def _within_smallint(number: int | None) -> int | None:
    """The nearest number the column's type holds: the column's bounds then refuse it by its field."""
    return None if number is None else max(-32768, min(number, 32767))


def _times(job: NewJob) -> Iterator[tuple[str, datetime | None]]:
    for name, at in (("run_at", job.run_at), ("expires_at", job.expires_at), ("created_at", job.created_at)):
        if at is not None and at.utcoffset() is None:
            raise Invalid(name, "has no time zone")
        yield name, at


def _request(job: NewJob, job_id: UUID | None) -> JsonObject:
    """One job, without what it does not say; by hand, for this is made for every job."""
    request: JsonObject = {"job_type": job.job_type, "org_id": f"{job.org_id.int:032x}", "payload": job.payload}
    for name, plain in (
        ("payload_version", job.payload_version),
        ("checked", job.is_checked or None),
        ("priority", _within_smallint(job.priority)),
        ("max_attempts", _within_smallint(job.max_attempts)),
        ("idempotency_key", job.idempotency_key),
        ("actor_type", job.origin.actor_type),
        ("actor_id", job.origin.actor_id),
        ("request_id", job.origin.request_id),
        ("correlation_id", job.origin.correlation_id),
        ("traceparent", job.origin.traceparent),
    ):
        if plain is not None:
            request[name] = plain
    for name, one in (
        ("job_id", job.job_id or job_id),
        ("project_id", job.project_id),
        ("parent_id", job.parent_id),
        ("replay_of", job.replay_of),
    ):
        if one is not None:
            request[name] = f"{one.int:032x}"
    for name, at in _times(job):
        if at is not None:
            request[name] = at.isoformat()
    return request
