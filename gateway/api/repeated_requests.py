"""Requests that make something and may be sent again after a lost answer: once per `Idempotency-Key` of an org."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Request, Response, status
from pydantic import BaseModel

from domain.jobs.failures import Invalid
from domain.jobs.job_request import KEY_FIELD, fingerprint
from gateway.http.bodies import JsonBody
from storage.access import api_requests
from storage.access.api_requests import StoredRequest
from storage.postgres.database import Transaction

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=400,
        description="The same request with the same key is answered with what the first one made, for 30 days. The"
        " same key with another request is refused, on whatever route it comes.",
    ),
]
"""What each route takes that makes something."""


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request, its key if it has one, and what tells it from another request with the same key."""

    key: str | None
    fingerprint: bytes

    def earlier(self, tx: Transaction, org_id: UUID) -> StoredRequest | None:
        """The same request that was made before, or None: then the key is taken, in the caller's transaction.

        Call it before anything else is checked, for what was accepted once may not pass any more. A request that is
        under way with the key is waited for. Raises `Invalid` when the key belongs to another request.
        """
        if self.key is None:
            return None
        stored = api_requests.remember(tx, org_id, self.key, self.fingerprint)
        if stored is not None and stored.fingerprint != self.fingerprint:
            raise of_another()
        return stored

    def keep(self, tx: Transaction, org_id: UUID, made: Sequence[UUID]) -> None:
        """Keep what the request made, in the transaction that made it."""
        if self.key is not None:
            api_requests.answer(tx, org_id, self.key, made)


def of_another() -> Invalid:
    """The key is taken by a request that asked for something else."""
    return Invalid(KEY_FIELD, "belongs to another request, which asked for something else")


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
