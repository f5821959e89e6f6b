"""Any RFC 822 bytes into a `ParsedMessage`; whatever the bytes are, this returns and says what was wrong."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from domain.clean_text import clean_text
from domain.mail.parsing.addresses import parse_addresses
from domain.mail.parsing.auth_results import kept_results
from domain.mail.parsing.encoded_words import decode_words
from domain.mail.parsing.limits import (
    LONGEST_HEADER,
    LONGEST_ID,
    LONGEST_IN_WORDS,
    LONGEST_SUBJECT,
    LONGEST_VALUE,
    LONGEST_VALUES,
    MOST_RECIPIENTS,
    MOST_REFERENCES,
    MOST_REPLY_TO,
)
from domain.mail.parsing.mail_body import read_body
from domain.mail.parsing.mail_headers import HeaderBlock, read_headers
from domain.mail.parsing.mime_parts import describe_part, open_parts
from domain.mail.parsing.parsed_message import Defect, ParsedMessage
from domain.orgs.spelling.normal_form import visible
from domain.payloads.mail_address import Address

_MESSAGE_ID = re.compile(r"< ?([^<> ][^<>]*+)>")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_SPACES = re.compile(r"\s+")


def parse_message(raw: bytes) -> ParsedMessage:
    """Understand a message as far as it can be; never raises. Time is linear in the size, within fixed bounds."""
    block = read_headers(raw)
    top = describe_part(block, raw, len(raw), 0)
    defects = [*_raw_defects(raw), *block.defects, *open_parts(top)]
    content = read_body(top, defects)
    senders = _addresses(block, "from", defects)
    defects.extend(_sender_defects(block, senders))
    to, cc, bcc = _recipients(block, defects)
    return ParsedMessage(
        message_id=_first_id(block.first("message-id")),
        in_reply_to=_first_id(block.first("in-reply-to")),
        references=_references(block),
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
        attachments=content.attachments,
        has_calendar=content.has_calendar,
        calendar_method=content.calendar_method,
        auth_results=kept_results(clean_text(block.first("authentication-results"))),
        defects=tuple(dict.fromkeys(defects)),
        size=len(raw),
    )


def _raw_defects(raw: bytes) -> Iterable[Defect]:
    if not raw:
        yield Defect.EMPTY
    if b"\x00" in raw:
        yield Defect.NUL_BYTES


def _decoded(value: str, longest: int) -> str:
    words = _CONTROLS.sub("", clean_text(decode_words(value[: longest * LONGEST_IN_WORDS])))
    line = _SPACES.sub(" ", words).strip()
    return line if len(line) <= longest else visible(line)[:longest]


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
    return next(iter(_ids(value)), None)


def _ids(value: str) -> list[str]:
    """The ids in a header, each in its angle brackets; odd ones as they are written.

    Where nothing is in brackets each word is an id, if it is the only one or has an at-sign.
    """
    text = _decoded(value, LONGEST_HEADER)
    found = [one.strip() for one in _MESSAGE_ID.findall(text)]
    if not found:
        words = text.replace("<", " ").replace(">", " ").split()
        found = [word for word in words if len(words) == 1 or "@" in word]
    return [f"<{one}>" for one in found if len(one) <= LONGEST_ID]


def _references(block: HeaderBlock) -> tuple[str, ...]:
    """The ids of the thread, oldest first; of too many the first and the latest stay."""
    ids = _ids(" ".join(block.every("references")))
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
