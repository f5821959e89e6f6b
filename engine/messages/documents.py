"""JSON and its wrappings as strangers send them: bounded in size and depth, and without numbers that JSON has not."""

import json
import zlib
from math import isfinite
from typing import Any

from engine.broker.hints import Unreadable

LARGEST_BODY = 2 * 1024 * 1024
"""Bytes of a body, unpacked. A payload of 256 KiB has six times that where each character is escaped."""

CONTAINERS = (dict, list)

MOST_LEVELS = 80
"""A contract's payload may have 64 levels, and stands three levels deep in a body. Far from where parsers give up."""

JSON = "application/json"
ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "binary"})
"""What a body of JSON may say of its encoding: it is UTF-8 anyway. kombu writes "binary" for what it compressed."""

ZLIB = "application/x-gzip"
"""kombu's name for zlib in a message's headers. Other kinds of compression are refused."""


def read_json(text: bytes | str, field: str) -> Any:  # noqa: ANN401 - whatever JSON says
    """Read JSON of any depth that Python's parser takes; raises `Unreadable` for what is none, NaN among it."""
    try:
        return DECODER.decode(text if isinstance(text, str) else text.decode())
    except (RecursionError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        deep = isinstance(error, RecursionError)
        raise Unreadable(field, "nests too deep" if deep else "is no JSON in UTF-8") from None


def check_depth(document: object, field: str) -> None:
    """Raise `Unreadable` for a document that nests more than `MOST_LEVELS` deep; needs no stack to find out."""
    level = [document]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if type(inner) in CONTAINERS
        ]
        if not level:
            return
    raise Unreadable(field, f"nests more than {MOST_LEVELS} levels deep")


def read_body(body: object, content_type: object, encoding: object, compression: object) -> Any:  # noqa: ANN401 - JSON
    """Read the JSON in a message's body; raises `Unreadable` with the field that is in the way."""
    if content_type != JSON:
        raise Unreadable("content_type", f"is not {JSON}")
    if encoding is not None and not (isinstance(encoding, str) and encoding.lower() in ENCODINGS):
        raise Unreadable("content_encoding", "is not utf-8")
    document = read_json(_unpacked(body, compression), "body")
    check_depth(document, "body")
    return document


def _unpacked(body: object, compression: object) -> bytes:
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if not isinstance(body, bytes | bytearray | memoryview):
        raise Unreadable("body", "is no text")
    packed = bytes(body)
    if len(packed) > LARGEST_BODY:
        raise Unreadable("body", f"has more than {LARGEST_BODY} bytes")
    if compression is None:
        return packed
    if compression != ZLIB:
        raise Unreadable("compression", f"is not zlib, whose name is {ZLIB}")
    return _unpack(packed)


def _unpack(packed: bytes) -> bytes:
    """Unpack no more than may be read: a thousandth of a body's size can unpack to all of the machine's memory."""
    unpacker = zlib.decompressobj()
    try:
        body = unpacker.decompress(packed, LARGEST_BODY + 1)
    except zlib.error:
        raise Unreadable("body", "cannot be decompressed") from None
    if len(body) > LARGEST_BODY:
        raise Unreadable("body", f"unpacks to more than {LARGEST_BODY} bytes")
    if not unpacker.eof:
        raise Unreadable("body", "is compressed and cut off")
    return body


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError("a number is too large")
    return number


DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
"""Made once: `json.loads` makes one for each document that is read with functions of one's own."""
