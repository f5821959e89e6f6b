"""Any RFC 822 bytes into a `ParsedMessage`; whatever the bytes are, this returns and says what was wrong."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from domain.clean_text import clean_text
from domain.mail.parsing.addresses import parse_addresses
from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.html_text import html_to_text
from domain.mail.parsing.limits import (
    LONGEST_ENCODED,
    LONGEST_HTML,
    LONGEST_SUBJECT,
    LONGEST_TEXT,
    LONGEST_VALUE,
    LONGEST_VALUES,
    MOST_ATTACHMENTS,
    MOST_AUTH_RESULTS,
    MOST_RECIPIENTS,
    MOST_REFERENCES,
    MOST_REPLY_TO,
    MOST_TEXT_PARTS,
)
from domain.mail.parsing.mail_encoding import base64_size, decode_text, decode_transfer, is_guessed, page_charset
from domain.mail.parsing.mail_headers import HeaderBlock, read_headers
from domain.mail.parsing.mime_parts import Part, describe_part, leaf_parts
from domain.mail.parsing.parsed_message import Address, Attachment, AuthResult, Defect, ParsedMessage

_MESSAGE_ID = re.compile(r"<[^<>\s]{1,250}>")
_METHOD = re.compile(rb"(?im)^METHOD:[ \t]*([A-Z-]{1,30})[ \t\r]*$")
_AUTH_METHOD = re.compile(r"\b([a-z][a-z0-9-]{1,20})\s*=\s*([a-z]{1,20})\b", re.IGNORECASE)
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_SPACES = re.compile(r"\s+")
_CALENDAR = frozenset({"text/calendar", "application/ics"})
_NOT_READ = _CALENDAR | {"text/html", "text/vcard", "text/x-vcard", "text/directory", "text/css"}


@dataclass(frozen=True, slots=True)
class _Content:
    """What the leaf parts held together."""

    text: str
    html: str | None
    attachments: tuple[Attachment, ...]
    has_calendar: bool
    calendar_method: str | None


def parse_message(raw: bytes) -> ParsedMessage:
    """Understand a message as far as it can be; never raises. Time is linear in the size, within fixed bounds."""
    block = read_headers(raw)
    top = describe_part(block, raw, len(raw), 0)
    leaves, noted = leaf_parts(top)
    defects = [*_raw_defects(raw), *block.defects, *noted]
    content = _content(leaves, defects)
    senders = _addresses(block, "from", defects)
    defects.extend(_sender_defects(block, senders))
    to, cc, bcc = _recipients(block, defects)
    return ParsedMessage(
        message_id=_first_id(block.first("message-id")),
        in_reply_to=_first_id(block.first("in-reply-to")),
        references=_references(block.first("references")),
        subject=_decoded(block.first("subject"), LONGEST_SUBJECT),
        from_=senders[0] if senders else None,
        reply_to=_addresses(block, "reply-to", defects)[:MOST_REPLY_TO],
        to=to,
        cc=cc,
        bcc=bcc,
        date=_date(block.first("date"), defects),
        headers=_headers(block, defects),
        content_type=top.content_type,
        text=content.text,
        html=content.html,
        attachments=content.attachments,
        has_calendar=content.has_calendar,
        calendar_method=content.calendar_method,
        auth_results=tuple(_auth_result(value) for value in block.every("authentication-results")[:MOST_AUTH_RESULTS]),
        defects=tuple(dict.fromkeys(defects)),
        size=len(raw),
    )


def _raw_defects(raw: bytes) -> Iterable[Defect]:
    if not raw:
        yield Defect.EMPTY
    if b"\x00" in raw:
        yield Defect.NUL_BYTES


def _decoded(value: str, longest: int) -> str:
    return _SPACES.sub(" ", clean_text(decode_words(value[: longest * 4]))).strip()[:longest]


def _addresses(block: HeaderBlock, name: str, defects: list[Defect]) -> tuple[Address, ...]:
    addresses, more = parse_addresses(", ".join(block.every(name)))
    if more:
        defects.append(Defect.TOO_MANY_RECIPIENTS)
    return addresses


def _recipients(block: HeaderBlock, defects: list[Defect]) -> tuple[tuple[Address, ...], ...]:
    """To, Cc and Bcc, at most `MOST_RECIPIENTS` together; earlier headers keep theirs first."""
    room = MOST_RECIPIENTS
    kept: list[tuple[Address, ...]] = []
    for name in ("to", "cc", "bcc"):
        found = _addresses(block, name, defects)
        if len(found) > room:
            defects.append(Defect.TOO_MANY_RECIPIENTS)
        kept.append(found[:room])
        room -= len(kept[-1])
    return tuple(kept)


def _headers(block: HeaderBlock, defects: list[Defect]) -> tuple[tuple[str, str], ...]:
    """All names in order; when the values are longer than what is kept together, the later ones are cut."""
    room = LONGEST_VALUES
    kept: list[tuple[str, str]] = []
    for name, raw in block.fields:
        value = _decoded(raw, min(LONGEST_VALUE, room)) if room else ""
        if not room and raw:
            defects.append(Defect.LONG_HEADER)
        kept.append((name, value))
        room -= len(value)
    return tuple(kept)


def _sender_defects(block: HeaderBlock, senders: tuple[Address, ...]) -> Iterable[Defect]:
    if not senders:
        yield Defect.NO_SENDER
    if len(senders) > 1 or len(block.every("from")) > 1:
        yield Defect.MANY_SENDERS


def _first_id(value: str) -> str | None:
    match = _MESSAGE_ID.search(value)
    return clean_text(match[0]) if match else None


def _references(value: str) -> tuple[str, ...]:
    """The ids of the thread, oldest first; of too many the first and the latest stay."""
    ids = [clean_text(match[0]) for match in _MESSAGE_ID.finditer(value)]
    return tuple(ids) if len(ids) <= MOST_REFERENCES else (ids[0], *ids[1 - MOST_REFERENCES :])


def _date(value: str, defects: list[Defect]) -> datetime | None:
    """The Date header in UTC; one without a zone is taken for UTC (RFC 5322 allows -0000 for "unknown")."""
    if not value:
        return None
    try:
        date = parsedate_to_datetime(value[:100])
        date = date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        date = datetime.min.replace(tzinfo=UTC)
    if _FIRST_YEAR <= date.year <= _LAST_YEAR:
        return date
    defects.append(Defect.BAD_DATE)
    return None


def _auth_result(value: str) -> AuthResult:
    host, _, results = _decoded(value, LONGEST_VALUE).partition(";")
    # Comments may hold anything, "dmarc=pass" included (RFC 8601, 2.2).
    plain = re.sub(r"\([^()]*\)", " ", results)
    pairs = tuple((match[1].lower(), match[2].lower()) for match in _AUTH_METHOD.finditer(plain))
    return AuthResult((host.split() or [""])[0].lower(), pairs)


def _content(leaves: list[Part], defects: list[Defect]) -> _Content:
    plain = [part for part in leaves if _is_readable(part)]
    pages = [part for part in leaves if part.content_type == "text/html" and _is_inline(part)]
    calendars = [part for part in leaves if part.content_type in _CALENDAR]
    shown = {id(part) for part in (*plain, *pages[:1], *calendars)}
    text = "\n\n".join(filter(None, (_text(part, LONGEST_TEXT, defects) for part in plain[:MOST_TEXT_PARTS])))
    if len(plain) > MOST_TEXT_PARTS or len(leaves) - len(shown) > MOST_ATTACHMENTS:
        defects.append(Defect.TOO_MANY_PARTS)
    page = _text(pages[0], LONGEST_HTML, defects) if pages else None
    text = text if text.strip() or page is None else html_to_text(page)
    if len(text) > LONGEST_TEXT:
        defects.append(Defect.TRUNCATED_TEXT)
    return _Content(
        text[:LONGEST_TEXT],
        page,
        tuple(_attachment(part) for part in leaves if id(part) not in shown or part.content_type in _CALENDAR)[
            :MOST_ATTACHMENTS
        ],
        bool(calendars),
        next(filter(None, (_calendar_method(part) for part in calendars)), None),
    )


def _is_inline(part: Part) -> bool:
    """Shown as the message itself; the only part of a message is, even when its sender gave it a file name."""
    return part.disposition != "attachment" and (not part.filename or part.depth == 0)


def _is_readable(part: Part) -> bool:
    return part.content_type.startswith("text/") and part.content_type not in _NOT_READ and _is_inline(part)


def _text(part: Part, longest: int, defects: list[Defect]) -> str:
    """A part's text, at most `longest` characters; only so many bytes are decoded as may be needed."""
    enough = longest * LONGEST_ENCODED
    data, known = decode_transfer(part.body(enough), part.encoding)
    charset = part.parameters.get("charset", "")
    if part.content_type == "text/html" and is_guessed(charset):
        charset = page_charset(data)
    text, charset_known = decode_text(data, charset)
    if not known:
        defects.append(Defect.BAD_ENCODING)
    if not charset_known:
        defects.append(Defect.BAD_CHARSET)
    if len(text) > longest or part.size > enough:
        defects.append(Defect.TRUNCATED_TEXT)
    return text[:longest].replace("\r\n", "\n").replace("\r", "\n").strip()


def _attachment(part: Part) -> Attachment:
    size = base64_size(part.raw, part.start, part.stop) if part.encoding == "base64" else part.size
    return Attachment(part.filename, part.content_type, size)


def _calendar_method(part: Part) -> str | None:
    method = part.parameters.get("method", "")
    if not method:
        found = _METHOD.search(decode_transfer(part.body(LONGEST_TEXT), part.encoding)[0])
        method = found[1].decode("ascii") if found else ""
    return method.strip().upper()[:30] or None
