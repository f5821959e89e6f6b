"""Messages and threads in the shapes that the Gmail API answers with: minimal, metadata, full and raw."""

import base64
from collections.abc import Collection, Iterator
from email.message import Message
from uuid import uuid4

from sandbox.emulator.exchange import ApiFailure, Json
from sandbox.google.mailbox.mailbox import Mailbox, MailMessage
from sandbox.google.mailbox.rfc822 import children_of, first_text, parts_of, text_of

FORMATS = ("full", "metadata", "minimal", "raw")
SNIPPET = 120


def encode(data: bytes) -> str:
    """Bytes as base64url, the only alphabet Gmail uses."""
    return base64.urlsafe_b64encode(data).decode()


def decode(text: object) -> bytes:
    """Base64url with or without padding; refused with 400 otherwise."""
    if not isinstance(text, str) or not text:
        raise ApiFailure(400, "invalidArgument", "'raw' RFC822 payload message string or uploading message required")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as error:
        raise ApiFailure(400, "invalidArgument", "Invalid value at 'message.raw' (TYPE_BYTES)") from error


def message_resource(
    message: MailMessage, shape: str, header_names: Collection[str] = (), *, inline_below: int = 0
) -> Json:
    """A message in one of the four formats; `header_names` limits `metadata` and nothing else.

    Files of fewer than `inline_below` bytes come with their content.
    """
    if shape not in FORMATS:
        raise ApiFailure(400, "invalidArgument", f"Invalid value at 'format': {shape}")
    parsed = parts_of(message.raw)
    resource: Json = {
        **message.facts(),
        "snippet": " ".join(text_of(first_text(parsed)[: SNIPPET * 4]).split())[:SNIPPET],
        "historyId": str(message.history_id),
        "internalDate": str(message.internal_date),
        "sizeEstimate": len(message.raw),
    }
    if shape == "raw":
        resource["raw"] = encode(message.raw)
    elif shape == "metadata":
        resource["payload"] = {"mimeType": parsed.get_content_type(), "headers": _headers(parsed, header_names)}
    elif shape == "full":
        resource["payload"] = _part(parsed, "", inline_below)
    return resource


def thread_resource(mailbox: Mailbox, thread_id: str, shape: str, header_names: Collection[str] = ()) -> Json:
    """A thread with its messages, oldest first; 404 when none is left or seen."""
    if shape == "raw":
        raise ApiFailure(400, "invalidArgument", "Invalid value at 'format': raw")
    messages = mailbox.thread(thread_id)
    seen = [message for message in messages if message.hidden_gets == 0]
    for message in messages:
        message.hidden_gets = max(0, message.hidden_gets - 1)
    if not seen:
        raise ApiFailure(404, "notFound", "Requested entity was not found.")
    return {
        "id": thread_id,
        "historyId": str(max(message.history_id for message in seen)),
        "messages": [message_resource(message, shape, header_names) for message in seen],
    }


def attachment_resource(message: MailMessage, attachment_id: str) -> Json:
    """The bytes of one part that has a file name."""
    for part_id, part in _numbered(parts_of(message.raw), ""):
        if part.get_filename() and attachment_id.startswith(f"{_attachment_stem(part_id)}."):
            data = _data(part)
            return {"size": len(data), "data": encode(data)}
    raise ApiFailure(404, "notFound", "Requested entity was not found.")


def _headers(part: Message, names: Collection[str] = ()) -> list[Json]:
    wanted = {name.lower() for name in names}
    return [
        {"name": name, "value": text_of(value)} for name, value in part.items() if not wanted or name.lower() in wanted
    ]


def _part(part: Message, part_id: str, inline_below: int) -> Json:
    resource: Json = {
        "partId": part_id,
        "mimeType": part.get_content_type(),
        "filename": text_of(part.get_filename() or ""),
        "headers": _headers(part),
        "body": _body(part, part_id, inline_below),
    }
    children = [_part(child, child_id, inline_below) for child_id, child in _children(part, part_id)]
    return {**resource, "parts": children} if children else resource


def _children(part: Message, part_id: str) -> Iterator[tuple[str, Message]]:
    prefix = f"{part_id}." if part_id else ""
    return ((f"{prefix}{index}", child) for index, child in enumerate(children_of(part)))


def _numbered(part: Message, part_id: str) -> Iterator[tuple[str, Message]]:
    yield part_id, part
    for child_id, child in _children(part, part_id):
        yield from _numbered(child, child_id)


def _attachment_stem(part_id: str) -> str:
    return f"ANGjdJ_{part_id.replace('.', '-') or 'root'}"


def _attachment_id(part_id: str) -> str:
    """Another one at each listing, as Gmail has it; all of them are good."""
    return f"{_attachment_stem(part_id)}.{uuid4().hex}"


def _body(part: Message, part_id: str, inline_below: int) -> Json:
    if part.is_multipart():
        return {"size": 0}
    data = _data(part)
    if part.get_filename() and len(data) >= inline_below:
        return {"size": len(data), "attachmentId": _attachment_id(part_id)}
    return {"size": len(data), "data": encode(data)}


def _data(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""
