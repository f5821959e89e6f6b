"""Reading and rewriting the headers of raw mail without touching its body, however broken the mail is."""

import re
from contextlib import suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.policy import compat32
from email.utils import getaddresses

REPLY_PREFIX = re.compile(r"^\s*((re|fwd?|aw|wg|sv|antw)\s*(\[\d+\])?\s*:\s*)+", re.IGNORECASE)


def headers_of(raw: bytes) -> Message:
    """The header block alone; never fails."""
    return BytesHeaderParser(policy=compat32).parsebytes(raw)


DEEPEST = 100
"""Parts in each other that are shown as such. Python's parser and those who walk over parts call themselves once per
level; Google documents no bound of its own."""


def parts_of(raw: bytes) -> Message:
    """The whole message, parsed; never fails. One that nests too deep is a single part."""
    try:
        message = BytesParser(policy=compat32).parsebytes(raw)
    except RecursionError:
        return headers_of(raw)
    return message if _depth(message) <= DEEPEST else headers_of(raw)


def _depth(message: Message) -> int:
    depth, level = 0, [message]
    while level:
        depth += 1
        level = [child for part in level for child in children_of(part)]
    return depth


def children_of(part: Message) -> list[Message]:
    """The parts that a part is made of; never fails.

    The payload of others is left alone: Python decodes it, and raises for a charset in the form of RFC 2231.
    """
    payload = part.get_payload() if part.is_multipart() else []
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def text_of(value: object) -> str:
    """A header's value as Gmail shows it: unfolded, encoded words decoded, no byte that is no text."""
    text = re.sub(r"\r?\n(?=[ \t])", "", str(value)).strip()
    with suppress(ValueError, LookupError, MessageError):  # unknown charset or broken base64: show the source
        text = str(make_header(decode_header(text)))
    return text.encode("utf-8", "replace").decode()


def header_of(message: Message, name: str) -> str:
    """The first value of a header, or an empty text."""
    return text_of(message.get(name, ""))


def plain_subject(subject: str) -> str:
    """A subject without reply prefixes, case and spare blanks, as threading compares it."""
    return " ".join(REPLY_PREFIX.sub("", subject).split()).casefold()


def referenced_ids(message: Message) -> list[str]:
    """The message ids in References and In-Reply-To, the latest last."""
    return _ids(f"{message.get('References', '')} {message.get('In-Reply-To', '')}")


def own_id(message: Message) -> str:
    """The Message-ID with its brackets, or an empty text."""
    return next(iter(_ids(str(message.get("Message-ID", "")))), "")


def _ids(value: str) -> list[str]:
    """Ids in angle brackets, also out of encoded words; bare ones get theirs."""
    text = text_of(value)
    return re.findall(r"<[^<>\s]+>", text) or [f"<{word}>" for word in text.split() if "@" in word]


def addresses_of(message: Message, *names: str) -> list[str]:
    """The bare addresses in the headers named, in lower case."""
    values = [str(value) for name in names for value in message.get_all(name, [])]
    return [address.lower() for _, address in getaddresses(values) if address]


def replace_header(raw: bytes, name: str, value: str) -> bytes:
    """The message with exactly one header of that name; every other byte stays."""
    found = re.search(rb"\r?\n\r?\n", raw)
    head, rest = (raw[: found.start()], raw[found.start() :]) if found else (raw.rstrip(b"\r\n"), b"\r\n\r\n")
    newline = b"\r\n" if b"\r\n" in head + rest else b"\n"
    kept = re.sub(rb"(?im)^" + re.escape(name.encode()) + rb"[ \t]*:.*(\r?\n[ \t].*)*(\r?\n|\Z)", b"", head)
    lines = [line for line in (kept.rstrip(b"\r\n"), f"{name}: {value}".encode()) if line]
    return newline.join(lines) + rest


def first_text(message: Message) -> str:
    """The first plain-text part, decoded as far as possible."""
    for part in message.walk():
        if part.get_content_type() == "text/plain" and not part.is_multipart():
            payload = part.get_payload(decode=True)
            if isinstance(payload, bytes):
                return payload.decode("utf-8", "replace")
    return ""
