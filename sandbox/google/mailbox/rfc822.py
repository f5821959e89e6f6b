"""Reading and rewriting the headers of raw mail without touching its body, however broken the mail is."""

import re
from contextlib import suppress
from email.errors import HeaderParseError
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
        payloads = [part.get_payload() for part in level]
        level = [child for one in payloads if isinstance(one, list) for child in one if isinstance(child, Message)]
    return depth


def text_of(value: object) -> str:
    """A header's value as Gmail shows it: unfolded, encoded words decoded, no byte that is no text."""
    text = re.sub(r"\r?\n(?=[ \t])", "", str(value)).strip()
    with suppress(ValueError, LookupError, HeaderParseError):  # unknown charset or broken base64: show the source
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
    text = f"{message.get('References', '')} {message.get('In-Reply-To', '')}"
    return re.findall(r"<[^<>\s]+>", text)


def own_id(message: Message) -> str:
    """The Message-ID with its brackets, or an empty text."""
    found = re.search(r"<[^<>\s]+>", str(message.get("Message-ID", "")))
    return found.group() if found else ""


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
