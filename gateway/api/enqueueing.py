"""Enqueues what a client asked for: once per idempotency key, in the tenant's own transaction."""

from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel, Field

from domain.jobs.failures import Conflict, Invalid
from domain.jobs.job import NewJob, Origin
from domain.jobs.job_request import KEY_FIELD, JobRequest, fingerprint
from domain.orgs.access.api_keys import check_job_type
from domain.payloads import payload_types
from gateway.http.resources import Resources
from operations.repeated_requests import KeyedRequest, of_another
from storage.jobs import job_views, ledger, payload_names
from storage.orgs.access.api_keys import Caller
from storage.orgs.access.api_requests import StoredRequest
from storage.postgres.execution import Row


class EnqueuedJob(BaseModel):
    """What became of a request to enqueue."""

    job_id: UUID = Field(description="The job's id, or the id of the job that was there first.")
    job_type: str = Field(description="The job type's own name, whatever alias was asked for.")
    created: bool = Field(description="False when the job was there already: see `replayed`.")
    replayed: bool = Field(
        description="True when an earlier request with the same `Idempotency-Key` made the job. When false, and"
        " `created` is too, the job type is unique and has a job of the same kind already."
    )


@dataclass(frozen=True, slots=True)
class UnderstoodRequest:
    """A request that is understood: the job it is for, and what tells it from another under the same key."""

    job: NewJob
    keyed: KeyedRequest


def understand(document: object, header_key: str | None, caller: Caller, origin: Origin) -> UnderstoodRequest:
    """Check a request as a worker would its job; raises `Invalid` or `Forbidden` with the field and the reason."""
    request = JobRequest.parse(document, header_key)
    payload_type = payload_types.find(request.job_type)
    if payload_type is None:
        raise Invalid("job_type", f"{request.job_type} is not a known job type")
    declared = payload_type.declaration
    check_job_type(declared)
    accepted = payload_type.accept(request.payload, request.payload_version)
    taken = request.model_copy(
        update={"job_type": declared.job_type, "payload": accepted.payload, "payload_version": accepted.version}
    )
    job = taken.new_job(caller.org_id, origin, is_checked=accepted.is_checked)
    if not isinstance(document, dict):
        raise TypeError("a request that was parsed is an object")
    # Route and query are not part of it: the key may also stand in the body, and the ledger knows it by itself.
    return UnderstoodRequest(job, KeyedRequest(job.idempotency_key, fingerprint(document)))


def enqueue(resources: Resources, asked: UnderstoodRequest) -> EnqueuedJob:
    """Enqueue the job, or name the one that the same request made before; the relay is woken and publishes it.

    Raises `Invalid` when the key belongs to another request.
    """
    with resources.database.on_behalf(asked.job.org_id, asked.job.origin) as tx:
        job = payload_names.resolve_job(tx, asked.job)
        earlier = asked.keyed.earlier(tx, job.org_id)
        if earlier is not None:
            return _replayed(earlier, asked)
        # Nobody publishes here: the notification wakes the relay, which does.
        (made,) = ledger.enqueue(tx, [job], publisher=False, hint_timeout=resources.hint_timeout)
        replayed = not made.created and job.idempotency_key is not None
        if replayed:
            _check_same(job_views.read(tx, made.job_id), job)
        asked.keyed.keep(tx, job.org_id, [made.job_id])
    return EnqueuedJob(job_id=made.job_id, job_type=made.hint.job_type, created=made.created, replayed=replayed)


def _replayed(earlier: StoredRequest, asked: UnderstoodRequest) -> EnqueuedJob:
    return EnqueuedJob(
        job_id=earlier.made[0], job_type=earlier.job_type or asked.job.job_type, created=False, replayed=True
    )


def _check_same(first: Row | None, job: NewJob) -> None:
    """A job of another entry point has the key: it must be the one that is asked for."""
    if first is None:
        raise Conflict(f"{KEY_FIELD}: belongs to a job that is past its retention")
    if (first.job_type, first.payload) != (job.job_type, job.payload):
        raise of_another()
