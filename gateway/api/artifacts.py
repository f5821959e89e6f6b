"""`PUT /v1/artifacts`: a service stores a file. The other routes about artifacts are made from their operations."""

from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Header, Query, Request, Response, status
from fastapi.concurrency import run_in_threadpool

from domain.jobs.failures import Invalid
from domain.jobs.job import SYSTEM_ORG
from domain.jobs.job_request import fingerprint
from domain.planning.files.artifacts import ANY_BYTES, UPLOAD, NewArtifact, checked_facts, place_of
from domain.planning.files.digests import FIELD, WANTED
from gateway.api.repeated_requests import IdempotencyKey, replays, say_replayed
from gateway.http.callers import Uploader
from gateway.http.problems import problem, problems
from gateway.http.resources import call_of, resources_of
from gateway.http.uploads import ReceivedFile, receive, receiving
from operations.planning.exchange.artifacts import ArtifactView, keep_artifact
from operations.repeated_requests import KeyedRequest

router = APIRouter(prefix="/v1", tags=["artifacts"])

BODY = {
    "requestBody": {
        "required": True,
        "content": {"*/*": {"schema": {"type": "string", "format": "binary", "description": "The file as it is."}}},
    }
}
Name = Annotated[str, Query(min_length=1, max_length=200, description="What the file is called, without a path.")]
Kind = Annotated[str, Query(min_length=1, max_length=40, description="A word for what it is.")]
Digest = Annotated[
    str | None,
    Header(alias=FIELD, description="`sha-256=:…:` (RFC 9530): a file that came otherwise is refused."),
]


@router.put(
    "/artifacts",
    status_code=status.HTTP_201_CREATED,
    response_model=ArtifactView,
    responses={**replays(ArtifactView), **problems(401, 403, 408, 413, 415, 422, 429, 503)},
    operation_id="put_artifact",
    openapi_extra=BODY,
)
async def put_artifact(
    request: Request,
    response: Response,
    caller: Uploader,
    name: Name,
    kind: Kind = UPLOAD,
    _content_digest: Digest = None,
    idempotency_key: IdempotencyKey = None,
) -> ArtifactView | Response:
    """Store a file, as long as the installation allows, in one request. Its media type is the request's.

    Nothing is kept of a file that is cut off, too long, packed, or another than its digest says.
    """
    resources = resources_of(request)
    facts = checked_facts(kind, name, request.headers.get("content-type", ANY_BYTES).partition(";")[0].strip())
    with receiving() as received:
        try:
            await receive(request, received, resources.settings.artifact_bytes)
        except Invalid as refusal:
            wanted = WANTED if refusal.field == FIELD else {}
            return problem(request, 422, refusal.code, refusal.reason, field=refusal.field, headers=wanted)
        made = NewArtifact(uuid4(), facts, received.size, received.sha256)
        asked = {"route": "PUT /v1/artifacts", "facts": facts.model_dump(), "sha256": made.sha256}
        call = call_of(request, caller, KeyedRequest(idempotency_key, fingerprint(asked)))
        # Not while the file was on its way: that may take as long as its client likes.
        async with resources.requests.hold(caller.org_id), resources.puts.hold(SYSTEM_ORG):
            await _put(request, caller.org_id, made, received)
            kept = await run_in_threadpool(keep_artifact, call, made)
    if call.is_replayed:
        say_replayed(response)
    response.headers["Location"] = f"/v1/artifacts/{kept.artifact_id}"
    return kept


async def _put(request: Request, org_id: UUID, made: NewArtifact, received: ReceivedFile) -> None:
    """Bytes first: a gateway that dies before the row leaves bytes that nothing points to."""
    data = await run_in_threadpool(received.read)
    await resources_of(request).artifacts.put(place_of(org_id, made.artifact_id), data)
