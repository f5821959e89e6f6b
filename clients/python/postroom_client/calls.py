"""The requests to Postroom's HTTP API as values: where each goes, what it says, and how its answer is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx

from postroom_client import errors, options, records
from postroom_client.options import Id
from postroom_client.retries import retry_after_s

Answer = TypeVar("Answer")

REFUSALS: Mapping[int, type[errors.Refused]] = {
    HTTPStatus.UNAUTHORIZED: errors.Unauthorised,
    HTTPStatus.FORBIDDEN: errors.Forbidden,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.UNPROCESSABLE_ENTITY: errors.Invalid,
    HTTPStatus.TOO_MANY_REQUESTS: errors.TooManyRequests,
}
HEADERS = {"request_id": b"X-Request-Id", "correlation_id": b"X-Correlation-Id", "traceparent": b"traceparent"}
"""What of a job's options is said by a header."""


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """One request. Its body is made once, so that each try says the same."""

    method: str
    path: str
    read: Callable[[Any], Answer]
    body: bytes | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Sequence[tuple[bytes, bytes]] = ()
    """Text is sent as UTF-8, which the gateway reads."""
    repeatable: bool = False
    """Whether to do it twice is as good as once: it looks, or it has a key, or its second time changes nothing."""

    def answer(self, response: httpx.Response) -> Answer:
        """Read a definite answer; raises `Refused`."""
        if not response.is_success:
            raise refusal(response)
        try:
            return self.read(response.json())
        except ValueError as error:
            reason = f"{response.url} answered what is not Postroom's: is it the gateway's address?"
            raise errors.Refused("not_postroom", reason, status=response.status_code) from error


def refusal(response: httpx.Response) -> errors.Refused:
    """What an answer refuses, and why."""
    problem = _problem(response)
    code, field_name = str(problem.get("code", response.reason_phrase)), problem.get("field")
    reason = problem.get("reason") or problem.get("detail") or response.reason_phrase
    refused = REFUSALS.get(response.status_code, errors.Refused)(
        code, reason, field=field_name, status=response.status_code
    )
    refused.request_id = problem.get("request_id")
    refused.retry_after_s = retry_after_s(response)
    refused.document = problem
    return refused


def _problem(response: httpx.Response) -> Mapping[str, Any]:
    """The problem that an answer holds; empty where a proxy answered in its own way."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def request(method: str, path: str, body: object = None, *, query: Mapping[str, Any], key: str | None) -> Call[Any]:
    """Any request; its answer is the document."""
    return Call(
        method,
        path,
        lambda document: document,
        body=None if body is None else options.as_json(body).encode(),
        query=query,
        headers=_keyed(key),
        repeatable=method in {"GET", "HEAD", "PUT", "DELETE"} or key is not None,
    )


def enqueue(
    job_type: str, payload: Mapping[str, Any], key: str | None, said: Mapping[str, Any]
) -> Call[records.Enqueued]:
    """Enqueue a job."""
    wanted = options.checked(said)
    headers = [(HEADERS[name], str(wanted.pop(name)).encode()) for name in HEADERS if name in wanted]
    document = {"job_type": job_type, "payload": payload, **wanted}
    if key is not None:
        document["idempotency_key"] = key
    return Call(
        "POST",
        "/v1/jobs",
        lambda answer: records.read(records.Enqueued, answer),
        body=options.as_json(document).encode(),
        headers=headers,
        repeatable=key is not None,
    )


def job(job_id: Id) -> Call[records.Job]:
    """Look at a job."""
    return Call("GET", f"/v1/jobs/{_part(job_id)}", lambda answer: records.read(records.Job, answer), repeatable=True)


def cancel(job_id: Id, reason: str | None) -> Call[records.Canceled]:
    """Cancel a job and those that it has enqueued. One that was canceled before stays so."""
    return Call(
        "POST",
        f"/v1/jobs/{_part(job_id)}/cancel",
        lambda answer: records.read(records.Canceled, answer),
        body=options.as_json({} if reason is None else {"reason": reason}).encode(),
        repeatable=True,
    )


def start_run(workflow: str, key: str | None, said: Mapping[str, Any]) -> Call[records.StartedRun]:
    """Start a run of a workflow; `said` are its input, version and project, as far as they are given."""
    document = {"workflow": workflow, **{name: value for name, value in said.items() if value is not None}}
    return Call(
        "POST",
        "/v1/workflows/runs",
        lambda answer: records.read(records.StartedRun, answer),
        body=options.as_json(document).encode(),
        headers=_keyed(key),
        repeatable=key is not None,
    )


def run(run_id: Id) -> Call[records.Run]:
    """Look at a run."""
    path = f"/v1/workflows/runs/{_part(run_id)}"
    return Call("GET", path, lambda answer: records.read(records.Run, answer), repeatable=True)


def send_event(run_id: Id, name: str, payload: object, key: str | None) -> Call[records.SentEvent]:
    """Send a run an event; each call is an event of its own, unless it has the key of another."""
    return Call(
        "POST",
        f"/v1/workflows/runs/{_part(run_id)}/events/{_part(name)}",
        lambda answer: records.read(records.SentEvent, answer),
        body=options.as_json({} if payload is None else {"payload": payload}).encode(),
        headers=_keyed(key),
        repeatable=key is not None,
    )


def run_events(run_id: Id, cursor: str | None) -> Call[records.RunEventPage]:
    """Look at a page of the events that were sent to a run."""
    return Call(
        "GET",
        f"/v1/workflows/runs/{_part(run_id)}/events",
        lambda answer: records.read(records.RunEventPage, answer),
        query={} if cursor is None else {"cursor": cursor},
        repeatable=True,
    )


def _part(value: object) -> str:
    return quote(str(value), safe="")


def _keyed(key: str | None) -> Sequence[tuple[bytes, bytes]]:
    """The header of a key; raises `Invalid` for one that a header cannot carry."""
    if key is None:
        return ()
    if not key.strip() or key != key.strip() or not key.isprintable():
        raise errors.Invalid("invalid", "has no character, or one that no header carries", field="idempotency_key")
    return [(b"Idempotency-Key", key.encode())]
