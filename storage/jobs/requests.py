"""Jobs to be enqueued, as the function `postroom.enqueue_jobs` reads them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import zip_longest
from typing import NewType
from uuid import UUID

from domain.instants import in_utc
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob, Origin

LONGEST_REASON = 200
"""Characters: Python names the value's type, or for a number how many digits it may have; never the value."""

Requests = NewType("Requests", str)
"""A JSON array with an object for each job."""


def as_requests(jobs: Iterable[NewJob], job_ids: Sequence[UUID] = ()) -> Requests:
    """What to say of jobs; ids are for those that bring none. Can be made while another statement runs.

    Raises `Invalid` for a payload that cannot be written as JSON; for one that cannot be stored, the ledger does.
    """
    with _writable():
        # Job by job: of a thousand jobs' objects that live at once, the garbage collector takes a fifth of the time.
        return Requests(f"[{','.join(_write(_request(job, own)) for job, own in zip_longest(jobs, job_ids))}]")


def as_parameters(job: NewJob) -> Mapping[str, object]:
    """What `enqueue_job` is told of one job; raises `Invalid` as `as_requests` does."""
    with _writable():
        payload = _write(job.payload)
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
        "retry_base_s": _within_integer(job.retry_base_s),
        "retry_cap_s": _within_integer(job.retry_cap_s),
        "folds": job.folds,
        "keys_of": job.keys_of,
        **dict.fromkeys(("run_at", "expires_at", "created_at")),
        **dict(_times(job)),
    }


@contextmanager
def _writable() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise Invalid("payload", "nests too deep") from None
    except (TypeError, ValueError) as error:
        raise Invalid("payload", f"cannot be written as JSON: {error}"[:LONGEST_REASON]) from None


def _write(document: JsonObject) -> str:
    return json.dumps(document, allow_nan=False)


def _within_smallint(number: int | None) -> int | None:
    """The nearest number the column's type holds: the column's bounds then refuse it by its field."""
    return None if number is None else max(-32768, min(number, 32767))


def _within_integer(number: int | None) -> int | None:
    """As `_within_smallint`, for the function that checks it takes a wider type."""
    return None if number is None else max(-(2**31), min(number, 2**31 - 1))


def _times(job: NewJob) -> Sequence[tuple[str, datetime]]:
    """The times that a job names, in UTC: PostgreSQL reads offsets of less than 16 hours only; raises `Invalid`."""
    named = (("run_at", job.run_at), ("expires_at", job.expires_at), ("created_at", job.created_at))
    said = [(name, at) for name, at in named if at is not None]
    return [(name, _in_utc(name, at)) for name, at in said]


def _in_utc(field: str, at: datetime) -> datetime:
    try:
        return in_utc(at)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def _request(job: NewJob, job_id: UUID | None) -> JsonObject:
    """One job, without what the ledger assumes where nothing is said; by hand, for this is made for every job."""
    request: JsonObject = {"job_type": job.job_type, "org_id": f"{job.org_id.int:032x}", "payload": job.payload}
    if job.origin != _DEFAULT_ORIGIN:
        request |= {name: said for name, said in zip(Origin._fields, job.origin, strict=True) if said is not None}
    for name, plain in (
        ("checked", job.is_checked or None),
        ("folds", job.folds or None),
        ("keys_of", job.keys_of),
        ("payload_version", job.payload_version),
        ("priority", _within_smallint(job.priority or None)),
        ("max_attempts", _within_smallint(job.max_attempts)),
        ("retry_base_s", _within_integer(job.retry_base_s)),
        ("retry_cap_s", _within_integer(job.retry_cap_s)),
        ("idempotency_key", job.idempotency_key),
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
        request[name] = at.isoformat()
    return request


_DEFAULT_ORIGIN = Origin()
"""`postroom.enqueue_jobs` assumes the same."""
