"""What every request carries through the gateway: its ids, bound to its log records and handed to the jobs it makes."""

import re
import time
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from domain.jobs.job import ActorType, Origin
from domain.orgs.privacy.redaction import redact_text
from observability.traces import WELL_FORMED, SpanKind, span

log = structlog.get_logger(__name__)

LONGEST_PATH = 500
"""Characters of a path that the log keeps; a head may have 64 KB."""

ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,200}", re.ASCII)


class RequestRecorder:
    """ASGI middleware: gives each request its ids, answers with `X-Request-Id`, and logs a line without content."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with its ids in its state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origin = _origin(Headers(scope=scope))
        scope.setdefault("state", {})["origin"] = origin
        began, seen = time.monotonic(), {"status": 500}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = int(message["status"])
                MutableHeaders(scope=message)["X-Request-Id"] = str(origin.request_id)
            await send(message)

        with structlog.contextvars.bound_contextvars(
            request_id=origin.request_id, correlation_id=origin.correlation_id
        ):
            try:
                with span(
                    scope["method"],
                    SpanKind.SERVER,
                    parent=origin.traceparent,
                    attributes={"http.request.method": scope["method"]},
                ) as traced:
                    if traced.traceparent is not None:
                        scope["state"]["origin"] = origin._replace(traceparent=traced.traceparent)
                    await self._app(scope, receive, answer)
                    traced.note({"http.response.status_code": seen["status"]})
            finally:
                milliseconds = round((time.monotonic() - began) * 1000)
                path = redact_text(scope["path"], LONGEST_PATH)
                log.info("request", method=scope["method"], path=path, ms=milliseconds, **seen)


def origin_of(connection: HTTPConnection, actor_id: str, actor_type: ActorType = ActorType.SYSTEM) -> Origin:
    """Who caused what this request makes, such as a part of the gateway or a key, under the request's ids."""
    ids: Origin = connection.state.origin
    return Origin(actor_type, actor_id, ids.request_id, ids.correlation_id, ids.traceparent)


def _origin(headers: Headers) -> Origin:
    """The caller's ids where they are well formed; a broken one is replaced, never stored."""
    request_id = _matching(ID, headers.get("x-request-id")) or str(uuid4())
    return Origin(
        request_id=request_id,
        correlation_id=_matching(ID, headers.get("x-correlation-id")) or request_id,
        traceparent=_matching(WELL_FORMED, headers.get("traceparent")),
    )


def _matching(pattern: re.Pattern[str], value: str | None) -> str | None:
    return value if value is not None and pattern.fullmatch(value) else None
