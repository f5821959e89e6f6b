"""A body has so many bytes and so many seconds."""

import asyncio

import pytest
from fastapi import Request
from starlette.types import Message

from domain.jobs.failures import Invalid
from gateway.http.bodies import LONGEST_JSON, MOST_FIELDS, MOST_VALUES, form_fields, json_body, read_body
from gateway.http.problems import RefusedPart


def request_of(*chunks: bytes, ends: bool = True, kind: bytes = b"application/json") -> Request:
    waiting = list(chunks)

    async def receive() -> Message:
        if not waiting and not ends:
            await asyncio.Event().wait()
        chunk = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting) or not ends}

    return Request({"type": "http", "headers": [(b"content-type", kind)]}, receive)


def test_a_body_that_never_ends_is_given_up_and_its_connection_with_it() -> None:
    with pytest.raises(RefusedPart) as refused:
        asyncio.run(read_body(request_of(b"{", ends=False), 10, 10, within_s=0.01))
    assert (refused.value.status_code, refused.value.code) == (408, "too_slow")
    assert refused.value.headers == {"Connection": "close"}


def test_a_body_is_cut_where_it_is_said_and_refused_where_it_is_too_long() -> None:
    assert asyncio.run(read_body(request_of(b"abc", b"def"), 4, 6)) == b"abcd"
    with pytest.raises(RefusedPart) as refused:
        asyncio.run(read_body(request_of(b"abc", b"def"), 4, 5))
    assert refused.value.status_code == 413


@pytest.mark.parametrize(
    ("chunk", "kind", "refusal"),
    [
        (b"{", b"application/json", Invalid),
        (b"[1e400000]", b"application/json", Invalid),
        (b"[" + b"9" * 5000 + b"]", b"application/json", Invalid),
        (b"[" * 5000 + b"]" * 5000, b"application/json", Invalid),
        (b"[" + b"{}," * MOST_VALUES + b"{}]", b"application/json", Invalid),
        (b'{"a": [' + b"1," * MOST_VALUES + b"1]}", b"application/json", Invalid),
        (b"{}", b"text/plain", RefusedPart),
        (b" " * (LONGEST_JSON + 1), b"application/json", RefusedPart),
    ],
)
def test_what_is_no_json_is_refused(chunk: bytes, kind: bytes, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        asyncio.run(json_body(request_of(chunk, kind=kind)))


def test_json_is_read_and_nothing_is_none() -> None:
    assert asyncio.run(json_body(request_of(b'{"a": 1}', kind=b"application/json; charset=utf-8"))) == {"a": 1}
    assert asyncio.run(json_body(request_of(b"", kind=b""))) is None


def test_a_form_has_each_of_its_fields_once() -> None:
    assert form_fields(b"choice=approve&reason=&why=a+%C3%A4") == {"choice": "approve", "reason": "", "why": "a ä"}
    for odd in (b"a=1&a=2", b"a=1&a=1", b"\xff=1", b"a=1&" * MOST_FIELDS + b"b=2"):
        with pytest.raises(Invalid, match=r"^form: "):
            form_fields(odd)
