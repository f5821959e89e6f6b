"""Refusals as RFC 9457 says them: `application/problem+json`, with the field and the reason of our own failures."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Literal

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from domain.documents.faults import Fault, RefusedDocument
from domain.jobs.failures import Busy, Conflict, Failure, Forbidden, ForOtherWorker, Gone, Invalid, Throttled, Transient
from domain.orgs.privacy.redaction import redact_text
from observability import logs

log = structlog.get_logger(__name__)

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_S = 10
LONGEST_DETAIL, LONGEST_FIELD = 2000, 300
"""Characters of a refusal. It may repeat what the caller sent, and is written in the event loop."""

STATUS_OF: Mapping[type[Failure], int] = {
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    Gone: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    Forbidden: HTTPStatus.FORBIDDEN,
    Throttled: HTTPStatus.TOO_MANY_REQUESTS,
    Transient: HTTPStatus.SERVICE_UNAVAILABLE,
    Busy: HTTPStatus.SERVICE_UNAVAILABLE,
    ForOtherWorker: HTTPStatus.SERVICE_UNAVAILABLE,
}
"""What else fails is a defect of ours: 500."""

LIMITED_HERE = {"gateway", "postroom"}
"""Who says `Throttled` to the caller: what a provider says to us is no fault of the caller's."""
UNSAID = {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.INTERNAL_SERVER_ERROR}
"""The reason stays in the log: it tells of our own inside."""


class FaultOfDocument(BaseModel):
    """One fault of a document."""

    pointer: str = Field(description="JSON pointer of the value.")
    reason: str


class Problem(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(description="`urn:postroom:problem:` and the code.")
    title: str = Field(description="The meaning of the status.")
    status: int
    code: str = Field(description="A short word for programs.")
    detail: str | None = Field(None, description="The reason, for people.")
    field: str | None = Field(None, description="The field that is refused; `payload.` before a field of the payload.")
    reason: str | None = Field(None, description="What is wrong with the field.")
    faults: list[FaultOfDocument] | None = Field(None, description="All that is wrong with a document, in its order.")
    request_id: str | None = Field(None, description="The request's id, as the log and the audit log have it.")


class RefusedPart(HTTPException):
    """A request that is refused for its form: status, code, detail."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        """Keep what to say."""
        super().__init__(status, detail, dict(headers or {}))
        self.code = code


def add_handlers(app: FastAPI) -> None:
    """Let the application answer every failure as a problem."""
    app.add_exception_handler(Failure, answer_failure)
    app.add_exception_handler(HTTPException, answer_refused_part)
    app.add_exception_handler(RequestValidationError, answer_misfit)
    app.add_exception_handler(ClientDisconnect, answer_nobody)
    app.add_exception_handler(Exception, answer_defect)


async def answer_failure(request: Request, failure: Exception) -> Response:
    """Our own failures, each kind by its status."""
    if not isinstance(failure, Failure):
        raise failure
    status = status_of(failure)
    if status in UNSAID:
        log.warning("unavailable", code=failure.code, reason=logs.sanitise(failure))
        wait_s = failure.wait.total_seconds() if isinstance(failure, Busy) else RETRY_AFTER_S
        return problem(request, status, failure.code, headers=_come_again(wait_s))
    headers = _come_again(failure.retry_after.total_seconds()) if isinstance(failure, Throttled) else {}
    field = failure.field if isinstance(failure, Invalid) else None
    faults = failure.faults if isinstance(failure, RefusedDocument) else ()
    return problem(request, status, failure.code, failure.reason, field=field, faults=faults, headers=headers)


def status_of(failure: Failure) -> int:
    """The status by which a failure is answered."""
    if isinstance(failure, Throttled) and failure.provider not in LIMITED_HERE:
        return HTTPStatus.SERVICE_UNAVAILABLE
    return next((STATUS_OF[kind] for kind in type(failure).__mro__ if kind in STATUS_OF), 500)


def _come_again(wait_s: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, round(wait_s)))}


async def answer_refused_part(request: Request, refusal: Exception) -> Response:
    """Refusals of the framework's: no such route, no such method; and ours of a request's form."""
    if not isinstance(refusal, HTTPException):
        raise refusal
    code = refusal.code if isinstance(refusal, RefusedPart) else HTTPStatus(refusal.status_code).name.lower()
    return problem(request, refusal.status_code, code, str(refusal.detail), headers=refusal.headers)


async def answer_misfit(request: Request, misfit: Exception) -> Response:
    """A path or query that does not fit its types, with the first field that does not."""
    if not isinstance(misfit, RequestValidationError):
        raise misfit
    first = misfit.errors()[0]
    # The place inside a list is no field's name.
    field = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "request")
    return problem(request, 422, Invalid.code, f"{field}: {first['msg']}", field=field)


async def answer_nobody(_request: Request, _failure: Exception) -> Response:
    """The caller left in the middle of its body."""
    return Response(status_code=400)


async def answer_defect(request: Request, _defect: Exception) -> Response:
    """A defect of ours; the server logs it, and closes the connection, which the answer says."""
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, "defect", headers={"Connection": "close"})


def problem(  # noqa: PLR0913 - the fields of a problem
    request: Request,
    status: int,
    code: str,
    detail: str | None = None,
    *,
    field: str | None = None,
    faults: Sequence[Fault] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem as an answer; what looks like a secret is taken out of its words."""
    said = redact_text(detail, LONGEST_DETAIL) if detail else None
    origin = getattr(request.state, "origin", None)
    document = Problem(
        type=f"urn:postroom:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=said,
        field=redact_text(field, LONGEST_FIELD) if field else None,
        reason=said.partition(": ")[2] if said and field else None,
        faults=[_fault(one) for one in faults] or None,
        request_id=origin.request_id if origin else None,
    )
    content = document.model_dump(exclude_none=True)
    return JSONResponse(content, status, dict(headers or {}), media_type=CONTENT_TYPE)


def _fault(fault: Fault) -> FaultOfDocument:
    pointer = redact_text(fault.pointer, LONGEST_FIELD)
    return FaultOfDocument(pointer=pointer, reason=redact_text(fault.reason, LONGEST_DETAIL))


ProblemStatus = Literal[401, 403, 404, 408, 409, 413, 415, 422, 429, 503]


def problems(*statuses: ProblemStatus) -> dict[int | str, dict[str, object]]:
    """What a route says in OpenAPI of these refusals."""
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
