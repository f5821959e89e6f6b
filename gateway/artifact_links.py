"""`GET /a/{id}`: whoever has a link reads a file, whole or in part.

The signature says which file of which org until when; the row is asked besides, each time. What a link is not good for
is answered alike, whether it is late, altered, revoked, or of a file that is gone or never was.
"""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response, status
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from domain.jobs.failures import Gone
from domain.planning.calendars.ranges import ByteRange, wanted_range
from domain.planning.files.digests import written
from domain.planning.files.links import ArtifactLink, disposition, read_until
from gateway.http.cells import send_on
from gateway.http.problems import RefusedPart
from gateway.http.request_ids import origin_of
from gateway.http.resources import Resources, resources_of
from operations.planning.exchange.artifacts import record_download
from providers.ports.artifact_store import AsyncArtifactStore
from storage.jobs import ledger
from storage.orgs.secrets.sealing import Sealer
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact

router = APIRouter()

PIECE = 256 * 1024
"""Bytes that are read of the store at a time, each in a call of its own: a client that reads slowly holds no call. It
has 30 s for each piece (`gateway.http.bounded_protocol`)."""

NOT_GOOD = "this link is not good, or not any more"


async def link_holder(
    request: Request, artifact_id: str, until: str = "", sig: str = ""
) -> AsyncIterator[StoredArtifact]:
    """The file of a link that we have signed; 404 for any other, 429 above the rate of one key.

    It holds one of the org's slots for downloads until the last byte was sent.
    """
    resources = resources_of(request)
    named, ends = _read_id(artifact_id), read_until(until)
    found = None
    if named is not None and ends is not None:
        found = await run_in_threadpool(_readable, resources, named, ends, sig)
    if found is None:
        if named is not None:
            await run_in_threadpool(send_on, request, named)
        raise RefusedPart(status.HTTP_404_NOT_FOUND, "no_such_link", NOT_GOOD)
    with resources.downloads.hold(found.org_id):
        yield found


LinkHolder = Annotated[StoredArtifact, Depends(link_holder, scope="request")]

VERIFIERS = frozenset({link_holder})
"""Every dependency that proves who has a link."""


@router.get("/a/{artifact_id}")  # noqa: FAST003  # its holder's dependency takes the id
@router.head("/a/{artifact_id}")  # as above
async def download(request: Request, found: LinkHolder) -> Response:
    """The bytes of a file, or what a `HEAD` says of them. Each reading is audited before a byte is sent."""
    try:
        part = _part(request, found)
    except ValueError:
        unknown = {"Content-Range": f"bytes */{found.size}"}
        refused = status.HTTP_416_RANGE_NOT_SATISFIABLE
        raise RefusedPart(refused, "no_such_bytes", f"the file has {found.size} bytes", unknown) from None
    wanted = part or ByteRange(0, found.size)
    headers = _headers(found, part)
    code = status.HTTP_200_OK if part is None else status.HTTP_206_PARTIAL_CONTENT
    if request.method == "HEAD":
        return Response(status_code=code, headers=headers)
    resources = resources_of(request)
    try:
        first = await resources.artifacts.read(found.place, wanted.start, min(wanted.start + PIECE, wanted.end))
    except Gone:
        raise RefusedPart(status.HTTP_404_NOT_FOUND, "no_such_link", NOT_GOOD) from None
    async with resources.requests.hold(found.org_id):
        await run_in_threadpool(_audit, request, found, wanted)
    pieces = _pieces(resources.artifacts, found.place, first, wanted)
    return StreamingResponse(pieces, code, headers)


def _readable(resources: Resources, artifact_id: UUID, until: datetime, signature: str) -> StoredArtifact | None:
    with resources.database.ledger() as tx:
        found, now = artifacts.find(tx, artifact_id), ledger.read_time(tx)
    if found is None:
        return None
    link = ArtifactLink(artifact_id, found.org_id, until, found.link_number)
    is_signed = link.is_signed_by(signature, Sealer.of(resources.settings).is_signed)
    if not (is_signed and found.is_ready and now < until):
        return None
    resources.limiter.count(artifact_id)
    return found


def _read_id(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None


def _part(request: Request, found: StoredArtifact) -> ByteRange | None:
    """The part that is wanted; all of it for a client that has bytes of another file (RFC 9110, 13.1.5 and 14.2)."""
    condition = request.headers.get("if-range")
    counts = request.method == "GET" and (condition is None or condition == _tag(found))
    return wanted_range(request.headers.get("range"), found.size) if counts else None


def _audit(request: Request, found: StoredArtifact, wanted: ByteRange) -> None:
    by = origin_of(request, f"link:{found.artifact_id}")
    with resources_of(request).database.ledger() as tx:
        record_download(tx, found, by, start=wanted.start, end=wanted.end)


async def _pieces(store: AsyncArtifactStore, place: str, first: bytes, wanted: ByteRange) -> AsyncIterator[bytes]:
    """The bytes, a piece at a time; where the store fails in the middle the connection ends, and the client sees it."""
    yield first
    for start in range(wanted.start + PIECE, wanted.end, PIECE):
        yield await store.read(place, start, min(start + PIECE, wanted.end))


def _headers(found: StoredArtifact, part: ByteRange | None) -> dict[str, str]:
    """To be saved and never shown: a browser must run nothing of it under our own address."""
    size = found.size if part is None else part.end - part.start
    headers = {
        "Content-Type": found.media_type,
        "Content-Length": str(size),
        "Content-Disposition": disposition(found.name),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Accept-Ranges": "bytes",
        "ETag": _tag(found),
        "Repr-Digest": written(found.sha256),
    }
    return headers if part is None else headers | {"Content-Range": part.content_range(found.size)}


def _tag(found: StoredArtifact) -> str:
    return f'"{found.sha256}"'
