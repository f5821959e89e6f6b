"""The pages that an owner sees while connecting a mailbox: no script, nothing from elsewhere, nothing kept."""

from collections.abc import Callable, Coroutine
from html import escape
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from domain.jobs.failures import Busy, Failure, ForOtherWorker, Invalid, Transient
from domain.mail.consent import START
from gateway.http.problems import RETRY_AFTER_S
from observability import logs

log = structlog.get_logger(__name__)

NEW_LINK = "Ask whoever sent you the link for a new one."

HEADERS = {
    "Cache-Control": "no-store",
    # The addresses of these pages hold a link's secret, or Google's code.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action {targets}"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">{refresh}<title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:10vh auto;padding:0 1rem;color:#1b1b1f}}
h1{{font-size:1.4rem}}button{{font:inherit;padding:.5rem 1rem}}</style></head>
<body><main><h1>{title}</h1>{content}</main></body></html>
"""
_FORM = (
    '<form method="post" action="{start}"><input type="hidden" name="link" value="{link}">'
    "<button>Continue to Google</button></form>"
)


class PageRefusal(HTTPException):
    """A browser is refused, and its person reads why."""

    def __init__(self, status: HTTPStatus, title: str, *words: str) -> None:
        """Keep what the page says."""
        super().__init__(status, title)
        self.title, self.words = title, words


class PageRoute(APIRoute):
    """A route that a person looks at: what fails beneath it is a page too, and no document for programs."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As the framework has it, with failures as pages."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await answer(request)
            except PageRefusal:
                raise
            except HTTPException as refusal:
                return page(refusal.status_code, "This page was not opened from its link", NEW_LINK)
            except (RequestValidationError, Invalid):
                return page(HTTPStatus.UNPROCESSABLE_ENTITY, "This page was not opened from its link", NEW_LINK)
            except Failure as failure:
                return _failed(failure)

        return handle


def _failed(failure: Failure) -> Response:
    """The reason stays in the log: it tells of our own inside."""
    if isinstance(failure, Transient | ForOtherWorker | Busy):
        log.warning("unavailable", code=failure.code, reason=logs.sanitise(failure))
        words = ("Wait a minute and reload this page. Should it still not work then:", NEW_LINK)
        answer = page(HTTPStatus.SERVICE_UNAVAILABLE, "This cannot be done at the moment", *words)
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
        return answer
    log.error("page_failed", code=failure.code, reason=logs.sanitise(failure))
    words = ("Something is wrong with this installation; its operators find the reason in their log.", NEW_LINK)
    return page(HTTPStatus.INTERNAL_SERVER_ERROR, "The mailbox was not connected", *words)


async def answer_page_refusal(_request: Request, refusal: Exception) -> Response:
    """The refusal as a page."""
    if not isinstance(refusal, PageRefusal):
        raise refusal
    return page(refusal.status_code, refusal.title, *refusal.words)


def page(
    status: int, title: str, *words: str, form: str = "", targets: str = "'none'", again_in_s: int | None = None
) -> Response:
    """A page of paragraphs; `form` is HTML of ours, `again_in_s` has the browser ask again."""
    refresh = "" if again_in_s is None else f'<meta http-equiv="refresh" content="{again_in_s}">'
    content = "".join(f"<p>{escape(each)}</p>" for each in words) + form
    body = _PAGE.format(title=escape(title), content=content, refresh=refresh)
    headers = HEADERS | {"Content-Security-Policy": POLICY.format(targets=targets)}
    return Response(body, status, headers, media_type="text/html")


def start_form(link: str) -> str:
    """The button that uses a link up: mail programs that look into links press none."""
    return _FORM.format(start=START, link=escape(link))
