"""`/v1/jobs`: enqueue, look at, list, cancel and retry the jobs of the key's org."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response, status
from pydantic import AwareDatetime

from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import ActorType, Origin, State
from domain.payloads import payload_types
from domain.redaction import redact
from gateway.api.cursors import read_cursor, write_cursor
from gateway.api.enqueueing import enqueue, understand
from gateway.api.models import CanceledJob, EnqueuedJob, JobLine, JobPage, JobView, RetriedJob
from gateway.api.reasons import Cancellation, Reason, read_body
from gateway.api.repeated_requests import IdempotencyKey, Keyed, replays, say_replayed
from gateway.http.bodies import JsonBody
from gateway.http.callers import Operator, Reader, Writer
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from storage.access.api_keys import Caller
from storage.operators import cancellations, org_jobs, retries
from storage.operators.org_jobs import OrgJobFilter, Place

router = APIRouter(prefix="/v1", tags=["jobs"])

SHOWN_BY_DEFAULT = 50
MOST_SHOWN = 200
"""Lines have no payloads: the longest answer has some hundred kilobytes."""

MAY_CARRY_SECRETS = ("payload", "progress", "output", "error", "cancel_reason")

DEFAULT_REASON = "asked for over HTTP"


@router.post(
    "/jobs",
    status_code=status.HTTP_201_CREATED,
    responses={
        200: {"model": EnqueuedJob, "description": "The job was there already."},
        **problems(401, 403, 408, 409, 413, 415, 422, 429, 503),
    },
    operation_id="enqueue_job",
)
def enqueue_job(
    request: Request,
    response: Response,
    caller: Writer,
    document: JsonBody,
    idempotency_key: IdempotencyKey = None,
) -> EnqueuedJob:
    """Enqueue a job. 201 when it was made, 200 when it was there already."""
    asked = understand(document, idempotency_key, caller, _origin(request, caller))
    made = enqueue(resources_of(request), asked)
    response.status_code = status.HTTP_201_CREATED if made.created else status.HTTP_200_OK
    response.headers["Location"] = f"/v1/jobs/{made.job_id}"
    if made.replayed:
        say_replayed(response)
    return made


@router.get("/jobs", responses=problems(401, 403, 422, 429, 503), operation_id="list_jobs")
def list_jobs(  # noqa: PLR0913, PLR0917 - one parameter per filter
    request: Request,
    caller: Reader,
    state: Annotated[list[State] | None, Query(max_length=len(State), description="Only these states.")] = None,
    job_type: Annotated[str | None, Query(max_length=100, description="Only this job type or alias.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Created then or later.")] = None,
    before: Annotated[AwareDatetime | None, Query(description="Created earlier than that.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = SHOWN_BY_DEFAULT,
    cursor: Annotated[str | None, Query(max_length=200, description="`next_cursor` of the part before.")] = None,
) -> JobPage:
    """List the org's jobs, the newest first."""
    known = payload_types.find(job_type) if job_type else None
    wanted = OrgJobFilter(state or (), known.declaration.job_type if known else job_type, since, before)
    after = read_cursor(cursor) if cursor else None
    with resources_of(request).database.tenant(caller.org_id) as tx:
        rows = org_jobs.listed(tx, caller.org_id, wanted, after=after, limit=limit + 1)
    lines = [JobLine(**_shown(row)) for row in rows[:limit]]
    more = len(rows) > limit
    last = lines[-1] if more else None
    return JobPage(jobs=lines, next_cursor=write_cursor(Place(last.created_at, last.job_id)) if last else None)


@router.get("/jobs/{job_id}", responses=problems(401, 403, 404, 422, 429, 503), operation_id="read_job")
def read_job(request: Request, caller: Reader, job_id: UUID) -> JobView:
    """Look at one job."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        row = org_jobs.read(tx, job_id)
    if row is None:
        raise Gone(f"there is no job {job_id}")
    return JobView(**_shown(row))


@router.post(
    "/jobs/{job_id}/cancel",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="cancel_job",
)
def cancel_job(request: Request, caller: Writer, job_id: UUID, document: JsonBody) -> CanceledJob:
    """Cancel a job and its descendants. A waiting job is canceled at once, a running job at its next step.

    With `children` false, the descendants go on. 409 when the job has ended otherwise.
    """
    asked = read_body(Cancellation, document)
    database = resources_of(request).database
    # As the tenant first: a job of another org must look like none. The ledger's own statement names the org again.
    with database.tenant(caller.org_id) as tx:
        if org_jobs.state(tx, job_id) is None:
            raise Gone(f"there is no job {job_id}")
    moved = cancellations.cancel(
        database,
        [job_id],
        asked.reason or DEFAULT_REASON,
        by=_origin(request, caller),
        org_id=caller.org_id,
        children=asked.children,
    ).asked
    if job_id not in moved:
        with database.tenant(caller.org_id) as tx:
            if org_jobs.state(tx, job_id) != State.CANCELED:  # somebody else may have canceled it meanwhile
                raise Conflict(f"job {job_id} has ended")
    return CanceledJob(job_id=job_id, state=State(moved.get(job_id, State.CANCELED)))


@router.post(
    "/jobs/{job_id}/retry",
    status_code=status.HTTP_201_CREATED,
    responses={**replays(RetriedJob), **problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503)},
    operation_id="retry_job",
)
def retry_job(
    request: Request, response: Response, caller: Operator, job_id: UUID, document: JsonBody, keyed: Keyed
) -> RetriedJob:
    """Do a failed, canceled or dead job again, as a new job that names it. 409 when it cannot be or was retried."""
    reason = read_body(Reason, document).reason or DEFAULT_REASON
    database = resources_of(request).database
    with database.tenant(caller.org_id) as tx:
        if org_jobs.state(tx, job_id) is None:
            raise Gone(f"there is no job {job_id}")
    with database.ledger() as tx:
        earlier = keyed.earlier(tx, caller.org_id)
        if earlier is not None:
            say_replayed(response)
            made = earlier.made[0]
        else:
            made = retries.retry(tx, job_id, by=_origin(request, caller), reason=reason, org_id=caller.org_id)
            keyed.keep(tx, caller.org_id, [made])
    response.headers["Location"] = f"/v1/jobs/{made}"
    return RetriedJob(job_id=made, replay_of=job_id)


def _origin(request: Request, caller: Caller) -> Origin:
    return origin_of(request, str(caller.key_id), ActorType.API_KEY)


def _shown(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row of the storage's
    """A row's columns, with secrets taken out of what a handler or a caller wrote."""
    columns = dict(row._asdict())
    hidden = {name: redact(columns[name]) for name in (*MAY_CARRY_SECRETS, "reason") if name in columns}
    return columns | hidden
