"""Templates become answers: escaped, with headers that let a page load nothing but what the gateway ships."""

import hashlib
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path

from fastapi import Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from domain.clean_text import clean_text
from domain.orgs.access.operators import CONSOLE
from gateway.console.shown import at, breakable, in_prose, in_words, lasting, money

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}
"""What the static files are; no other file is served."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer` browsers send the origin of a form as `null`, by which its writer is checked.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TITLES = {"deadletters": "dead letters", "email": "e-mail", "accounts": "mailboxes"}
"""Areas whose name of the command line is no word of people's."""
NOT_KEPT = {"Cache-Control": "no-store"}
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
"""A file with other bytes has another address."""


@cache
def static_files() -> Mapping[str, tuple[str, bytes, str]]:
    """By name: the address below the console's path, the bytes, and the type of each static file."""
    found = {}
    for path in sorted(STATIC.iterdir()):
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()[:16]
        found[path.name] = (f"/static/{digest}/{path.name}", data, KINDS[path.suffix])
    return found


def static_address(name: str) -> str:
    """The address of a static file, below the console's path."""
    return static_files()[name][0]


def static_answer(digest: str, name: str) -> Response:
    """A static file by its digest and name; 404 for any other."""
    address, data, kind = static_files().get(name, ("", b"", ""))
    if address != f"/static/{digest}/{name}":
        return Response(status_code=HTTPStatus.NOT_FOUND, headers=HEADERS | NOT_KEPT)
    return Response(data, headers=HEADERS | FOR_EVER, media_type=kind)


def title_of(area: str) -> str:
    """The name of an area as a page says it."""
    words = TITLES.get(area) or in_words(area)
    return words[:1].upper() + words[1:]


@cache
def environment() -> Environment:
    """The templates, compiled once."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"static": static_address, "title_of": title_of, "base": CONSOLE}
    made.filters |= {
        "at": at,
        "breakable": breakable,
        "words": in_words,
        "prose": in_prose,
        "lasting": lasting,
        "money": money,
    }
    return made


def rendered(template: str, **values: object) -> str:
    """The text of a template."""
    return environment().get_template(template).render(**values)


def page(
    template: str, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None, **values: object
) -> Response:
    """A template as an answer, without the characters that UTF-8 and HTML do not know."""
    body = clean_text(rendered(template, **values))
    return Response(body, status, {**HEADERS, **NOT_KEPT, **(headers or {})}, media_type="text/html; charset=utf-8")
