"""Reads request bodies up to a size and a time; a slow one is answered 408, and its connection closed."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, status
from fastapi.concurrency import run_in_threadpool
from pydantic_core import from_json

from domain.jobs.failures import Invalid
from gateway.http.problems import RefusedPart
from providers.google.push import LONGEST_BODY

LONGEST_READ = 16 * 1024 * 1024
"""Pub/Sub's largest message has 10 MB, 14 in base64: every push must get an answer."""

LONGEST_JSON = 1024 * 1024
"""Four times the largest payload. Escapes can make one six times as long; such a body is refused."""

MOST_VALUES = 20_000
"""Members of objects and elements of arrays in a body, of which each costs the reader of a document some microseconds.
The 500 rules of the longest document have 20 each; a megabyte could hold half a million."""

LONGEST_FORM = 8 * 1024
FORM_WITHIN_S = 10.0
"""Of a form of our own pages, which anybody may send who has a link."""

MOST_FIELDS = 100
"""Fields of a form; Twilio's callbacks have some 20, our own pages two."""

WHOLE_WITHIN_S = 20.0
"""How long a body may take from its head to its end; Pub/Sub gives a push up after 10 s."""


async def stream_body(request: Request, most: int, *, within_s: float = WHOLE_WITHIN_S) -> AsyncIterator[bytes]:
    """The body as it comes. Raises `RefusedPart`: 413 once more than `most` came, 408 after `within_s`."""
    read, until = 0, asyncio.get_running_loop().time() + within_s
    chunks = request.stream()
    while True:
        try:
            async with asyncio.timeout_at(until):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise RefusedPart(
                status.HTTP_408_REQUEST_TIMEOUT,
                "too_slow",
                f"the body was not here within {within_s:g} s",
                {"Connection": "close"},
            ) from None
        if chunk is None:
            return
        read += len(chunk)
        if read > most:
            raise RefusedPart(status.HTTP_413_CONTENT_TOO_LARGE, "too_large", f"at most {most} bytes")
        yield chunk


async def read_body(request: Request, keep: int, most: int, *, within_s: float = WHOLE_WITHIN_S) -> bytes:
    """The body, cut after `keep` bytes. Raises as `stream_body`."""
    kept = bytearray()
    async for chunk in stream_body(request, most, within_s=within_s):
        kept += chunk[: keep - len(kept)]
    return bytes(kept)


def form_fields(body: bytes) -> dict[str, str]:
    """The fields of a form, each of which comes once; raises `Invalid` for another body.

    Of two fields of one name nobody says which counts, and a signature over them does not say either.
    """
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Invalid("form", f"is no form of at most {MOST_FIELDS} fields") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Invalid("form", "has two fields of one name")
    return fields


async def pressed_form(request: Request) -> bytes:
    """What was pressed on a page of ours, or by a mail program (RFC 8058)."""
    return await read_body(request, LONGEST_FORM, LONGEST_FORM, within_s=FORM_WITHIN_S)


PressedForm = Annotated[bytes, Depends(pressed_form)]


async def bounded_body(request: Request) -> bytes:
    """A push. One byte more than the longest is kept, so that its reader sees that it is too long."""
    return await read_body(request, LONGEST_BODY + 1, LONGEST_READ)


BoundedBody = Annotated[bytes, Depends(bounded_body)]


async def json_body(request: Request) -> Any:  # noqa: ANN401 - whatever JSON says
    """The JSON value of the body, None without a body; raises `Invalid` for what is no JSON."""
    body = await read_body(request, LONGEST_JSON, LONGEST_JSON)
    if not body:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedPart(
            status.HTTP_415_UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "send Content-Type: application/json"
        )
    # The event loop is for all; a megabyte takes a thread some milliseconds.
    return await run_in_threadpool(_read_json, body)


def _read_json(body: bytes) -> Any:  # noqa: ANN401 - as above
    try:
        value = from_json(body, allow_inf_nan=False, cache_strings="keys")
        if _has_too_many_values(value):
            raise Invalid("document", f"has more than {MOST_VALUES} values")
        json.dumps(value, allow_nan=False)  # 1e999 has become infinite, which PostgreSQL's JSON does not know
    except ValueError:
        raise Invalid("document", "is no JSON") from None
    return value


def _has_too_many_values(document: object) -> bool:
    waiting, seen = [document], 0
    while waiting and seen <= MOST_VALUES:
        value = waiting.pop()
        if isinstance(value, dict | list):
            seen += len(value)
            waiting += value.values() if isinstance(value, dict) else value
    return seen > MOST_VALUES


JsonBody = Annotated[Any, Depends(json_body)]
