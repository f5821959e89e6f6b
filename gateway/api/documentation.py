"""`/docs`: the description of the API as a page, by Swagger UI, which is beside this module; nothing is from elsewhere.

Of five viewers it is the one that works where neither script nor style may be inline.
"""

import gzip
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path

from fastapi import APIRouter, Request, Response

router = APIRouter(include_in_schema=False)

VIEWER = Path(__file__).parent / "viewer"
PAGE = "index.html"
KINDS = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}
HEADERS: Mapping[str, str] = {
    # Images of Swagger UI's stylesheet are in it, as data.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "public, max-age=3600",
    "Vary": "Accept-Encoding",
}


@router.get("/docs")
async def show(request: Request) -> Response:
    """The page."""
    return _file(request, PAGE)


@router.get("/docs/{name}")
async def viewer_file(request: Request, name: str) -> Response:
    """A file that the page loads."""
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    if name not in _files():
        return Response(status_code=HTTPStatus.NOT_FOUND, headers=HEADERS)
    kind, plain, packed = _files()[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**HEADERS, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(plain, headers=HEADERS, media_type=kind)


@cache
def _files() -> Mapping[str, tuple[str, bytes, bytes]]:
    """By name: the type, the bytes, and the bytes packed, for the viewer is 1.7 MB."""
    return {
        path.name: (KINDS[path.suffix], path.read_bytes(), gzip.compress(path.read_bytes(), mtime=0))
        for path in VIEWER.iterdir()
    }
