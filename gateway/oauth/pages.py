"""The pages that an owner sees while connecting a mailbox: no script, nothing from elsewhere, nothing kept."""

from html import escape
from http import HTTPStatus

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from domain.mail.consent import START

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
