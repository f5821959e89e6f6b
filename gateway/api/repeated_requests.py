"""The `Idempotency-Key` of a request that makes something, and the answer to a request that was made before."""

from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response, status
from pydantic import BaseModel, BeforeValidator

from domain.jobs.job_request import fingerprint
from gateway.http.bodies import JsonBody
from operations.repeated_requests import KeyedRequest


def _as_sent(header: object) -> object:
    """The text that a client sent as UTF-8; HTTP's servers read a header as Latin-1."""
    if not isinstance(header, str):
        return header
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        raise ValueError("is no UTF-8") from None


IdempotencyKey = Annotated[
    str | None,
    BeforeValidator(_as_sent),
    Header(
        min_length=1,
        max_length=400,
        description="The same request with the same key is answered with what the first one made, for 30 days. The"
        " same key with another request is refused, on whatever route it comes.",
    ),
]
"""What each route takes that makes something."""


def keyed_request(request: Request, document: JsonBody, idempotency_key: IdempotencyKey = None) -> KeyedRequest:
    """The request with its route, its query and its body; the query's order does not count."""
    asked: dict[str, Any] = {
        "route": f"{request.method} {request.url.path}",
        "query": sorted([name, value] for name, value in request.query_params.multi_items()),
        "body": document,
    }
    return KeyedRequest(idempotency_key, fingerprint(asked))


Keyed = Annotated[KeyedRequest, Depends(keyed_request)]


def say_replayed(response: Response) -> None:
    """Let an answer say that an earlier request made what it tells of."""
    response.status_code = status.HTTP_200_OK
    response.headers["Idempotent-Replayed"] = "true"


def replays(answer: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """What a route says in OpenAPI of its answer to a request that was made before."""
    return {200: {"model": answer, "description": "The same request was made before, with the same `Idempotency-Key`."}}
