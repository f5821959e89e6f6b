"""`POST /v1/jobs`: enqueue a job for the key's org."""

from fastapi import APIRouter, Request, Response, status

from domain.jobs.job import ActorType
from gateway.api.enqueueing import EnqueuedJob, enqueue, understand
from gateway.api.repeated_requests import IdempotencyKey, say_replayed
from gateway.http.bodies import JsonBody
from gateway.http.callers import Writer
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of

router = APIRouter(prefix="/v1", tags=["jobs"])


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
    asked = understand(document, idempotency_key, caller, origin_of(request, str(caller.key_id), ActorType.API_KEY))
    made = enqueue(resources_of(request), asked)
    response.status_code = status.HTTP_201_CREATED if made.created else status.HTTP_200_OK
    response.headers["Location"] = f"/v1/jobs/{made.job_id}"
    if made.replayed:
        say_replayed(response)
    return made
