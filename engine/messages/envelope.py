"""The envelope in which kombu puts a message into a list of Redis. Anybody can write one: each field is checked."""

import binascii
from collections.abc import Mapping
from typing import Any

from engine.broker.hints import Unreadable
from engine.messages.documents import LARGEST_BODY, check_depth, read_json

LARGEST_ENVELOPE = 2 * LARGEST_BODY
"""Bytes: a body of the largest size in base64, and its headers."""

LONGEST_NAME = 200
"""Characters of an id and of a kind of content."""

PRIORITIES = range(256)
"""AMQP's; kombu maps them to its own."""

RawEnvelope = dict[str, Any]
"""An envelope as kombu's virtual transports read it; the fields that `close_envelope` lists, and no others."""


def read_envelope(item: bytes, queue: str, tag: str) -> RawEnvelope:
    """Read what stood in a queue's list; raises `Unreadable` with the field that is odd."""
    if len(item) > LARGEST_ENVELOPE:
        raise Unreadable("envelope", f"has more than {LARGEST_ENVELOPE} bytes")
    envelope = close_envelope(read_json(item, "envelope"), tag)
    # Not what the sender says: a message that is given back goes to this address.
    envelope["properties"]["delivery_info"] = {"exchange": "", "routing_key": queue}
    return envelope


def close_envelope(document: object, tag: str) -> RawEnvelope:
    """The same envelope with nothing in it that was not checked; raises `Unreadable`.

    Its delivery tag is replaced by `tag`: the broker's record of what is not acknowledged goes by the tag, so that a
    sender who chose the tag of another's message could take that one away.
    """
    if not isinstance(document, dict):
        raise Unreadable("envelope", "is no JSON object")
    properties = _mapping(document, "properties")
    _text(properties, "delivery_tag", "properties.", needed=True)
    route = properties.get("delivery_info")
    if not isinstance(route, dict):
        raise Unreadable("properties.delivery_info", "is no JSON object")
    addressed = {name: _text(route, name, "properties.delivery_info.") or "" for name in ("exchange", "routing_key")}
    priority = properties.get("priority")
    if priority is not None and not (type(priority) is int and priority in PRIORITIES):
        raise Unreadable("properties.priority", "is no whole number from 0 to 255")
    headers = _mapping(document, "headers")
    check_depth(headers, "headers")
    return {
        "body": _body(document.get("body"), properties.get("body_encoding")),
        "content-type": _text(document, "content-type"),
        "content-encoding": _text(document, "content-encoding"),
        "headers": headers,
        "properties": {
            "delivery_tag": tag,
            "delivery_info": addressed,
            "delivery_mode": 2,
            "body_encoding": properties.get("body_encoding"),
            "priority": priority or 0,
        },
    }


def _mapping(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable(name, "is no JSON object")
    return value


def _text(document: Mapping[str, Any], name: str, under: str = "", *, needed: bool = False) -> str | None:
    value = document.get(name)
    if value is None and not needed:
        return None
    if not isinstance(value, str) or len(value) > LONGEST_NAME or (needed and not value):
        raise Unreadable(f"{under}{name}", f"is no text of at most {LONGEST_NAME} characters")
    return value


def _body(body: object, encoding: object) -> str:
    """The body as it stands in the envelope, once it is known that kombu can decode it."""
    if body is None:
        return ""
    if not isinstance(body, str):
        raise Unreadable("body", "is no text")
    if encoding is not None and encoding != "base64":
        raise Unreadable("properties.body_encoding", "is not base64")
    try:
        if encoding is None:
            body.encode()
        else:
            binascii.a2b_base64(body, strict_mode=True)
    except ValueError as error:
        raise Unreadable("body", "is no text in UTF-8" if encoding is None else "is no base64") from error
    return body
