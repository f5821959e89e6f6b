"""What goes wrong as a page: what happened, and what to do about it."""

from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from domain.jobs.failures import Busy, Failure, Invalid, Throttled
from domain.orgs.access.operators import NotProven
from domain.orgs.privacy.redaction import redact_text
from gateway.console.rendering import page
from gateway.http.problems import LONGEST_DETAIL, RETRY_AFTER_S, UNSAID, status_of
from observability import logs
from storage.postgres.execution import DatabaseError, StatementAborted

log = structlog.get_logger(__name__)

ADVICE: Mapping[int, tuple[str, str]] = {
    400: ("This request is broken", "Go back and send it once more."),
    403: ("You may not do this", "Ask an admin for the role or the org that it takes."),
    404: ("There is no such page", "What it showed may be gone: retention removes what has ended. Search by its id."),
    405: ("This page takes no form", "Go back, and use the buttons of the page."),
    408: ("The form came too slowly", "Send it once more."),
    409: ("Something has changed meanwhile", "Reload the page of the thing, and decide again."),
    413: ("This is too much at once", "Shorten what was typed."),
    422: ("Something in the request does not fit", "Correct what is named, and send it again."),
    429: ("Too many requests at once", "Wait a moment. Close pages that you do not need."),
    500: ("Something is wrong on our side", "The log has the reason under the request's id."),
    503: ("This cannot be shown now", "Wait a minute and reload. The command line may still answer."),
}
"""By status: what happened, and what to do."""
TOO_MANY = ("Other pages are being made", "Wait a moment, and reload. An operator has two pages made at a time.")
TOO_SLOW = ("This takes longer than two seconds to find", "Narrow the time, the type or the org, and ask again.")


class ConsoleRoute(APIRoute):
    """A route that a person looks at: what fails beneath it is a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As the framework has it, with failures as pages."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except NotProven:
                raise
            except Failure as failure:
                return _failed(request, failure)
            except DatabaseError as error:
                log.exception("page_failed", code=type(error).__name__)
                return trouble(request, HTTPStatus.INTERNAL_SERVER_ERROR)
            except RequestValidationError:
                return trouble(request, HTTPStatus.UNPROCESSABLE_ENTITY)
            except HTTPException as refusal:
                return trouble(request, refusal.status_code, headers=refusal.headers)

        return handle


def _failed(request: Request, failure: Failure) -> Response:
    status = status_of(failure)
    headers = {}
    if isinstance(failure, Throttled):
        headers["Retry-After"] = str(max(1, round(failure.retry_after.total_seconds())))
    if isinstance(failure, StatementAborted):
        return trouble(request, status, headers={"Retry-After": "1"}, advice=TOO_SLOW)
    if isinstance(failure, Busy):
        return trouble(request, status, headers={"Retry-After": "1"}, advice=TOO_MANY)
    if status in UNSAID:
        log.warning("unavailable", code=failure.code, reason=logs.sanitise(failure))
        return trouble(request, status, headers={"Retry-After": str(RETRY_AFTER_S)})
    said = f"{failure.field}: {failure.reason}" if isinstance(failure, Invalid) else failure.reason
    return trouble(request, status, said, headers=headers)


def trouble(
    request: Request,
    status: int,
    reason: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    advice: tuple[str, str] | None = None,
) -> Response:
    """The page of a refusal, with the reason in its own words where it may be said."""
    title, what_to_do = advice or ADVICE.get(status, ADVICE[HTTPStatus.INTERNAL_SERVER_ERROR])
    origin = getattr(request.state, "origin", None)
    return page(
        "trouble.html",
        status,
        headers,
        title=title,
        advice=what_to_do,
        reason=redact_text(reason, LONGEST_DETAIL) if reason else None,
        number=int(status),
        request_id=origin.request_id if origin else None,
    )
