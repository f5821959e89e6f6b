"""A mail as it is about to leave, and its RFC 5322 bytes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from enum import StrEnum

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import address_line, ids_line, text_line, word_line
from domain.payloads.mail_address import Address

TOKEN_HEADER = "X-Postroom-Token"  # noqa: S105 -- the name of a header, no secret
"""Names a draft or a mail as ours, so that one whose record was lost is found again (docs: gmail.md#lost-drafts)."""
LARGEST_MESSAGE = 36_700_160
"""Bytes. Gmail's upload path takes messages of so many (docs: gmail.md#sending)."""
LONGEST_FILE_NAME = 200
LOOP_HEADER = "X-Postroom-Automatic"
"""Says that no person saw the mail before it left; `automation_signals.LOOP_HEADER` recognises it."""
_POLICY = SMTP.clone(cte_type="7bit")
_OCTETS = ("application", "octet-stream")
_NO_FILE_TYPES = frozenset({"multipart", "message"})
"""A part of these types must be well-formed itself; as a file it travels as it is."""


class AutomatedKind(StrEnum):
    """How a mail that no person approved names itself in `Auto-Submitted` (RFC 3834, 5)."""

    REPLIED = "auto-replied"
    GENERATED = "auto-generated"


def machine_headers(kind: AutomatedKind) -> dict[str, str]:
    """The headers of every mail that no person saw before it left (docs: automated-mail.md#our-own-answers)."""
    return {"Auto-Submitted": kind.value, "X-Auto-Response-Suppress": "All", LOOP_HEADER: "yes"}


@dataclass(frozen=True, slots=True)
class AttachmentBody:
    """A file with its content."""

    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail or a draft. Whoever makes one has decided; `message_bytes` only writes it down."""

    sender: Address
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    bcc: tuple[Address, ...]
    subject: str
    text: str
    html: str
    token: str | None
    """Names the mail as ours; in `X-Postroom-Token`, and for a reply among the `references`, one of which survives."""
    date: datetime | None
    reply_to: tuple[Address, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    files: tuple[AttachmentBody, ...] = ()
    automatic: AutomatedKind | None = None
    """None for what a person has approved: that is an ordinary mail."""
    message_id: str | None = None
    """For a provider that takes ours; Gmail gives its own (docs: gmail.md#message-id)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers, by name."""


def message_bytes(mail: MailMessage) -> bytes:
    """The mail as ASCII with CRLF line ends.

    Raises `Invalid` with the field for whatever would break a header, and for a mail that is larger than Gmail takes.
    """
    head = "".join(_head(mail)).encode("ascii")
    raw = head + _body(mail).as_bytes()
    if len(raw) > LARGEST_MESSAGE:
        raise Invalid(
            "attachments", f"make a message of {len(raw)} bytes; Gmail takes messages of at most {LARGEST_MESSAGE}"
        )
    return raw


def _head(mail: MailMessage) -> list[str]:
    lines = [
        address_line("From", (mail.sender,)),
        address_line("To", mail.to),
        address_line("Cc", mail.cc),
        address_line("Bcc", mail.bcc),
        address_line("Reply-To", mail.reply_to),
        text_line("Subject", mail.subject),
        word_line("Date", format_datetime(mail.date)) if mail.date else "",
        ids_line("Message-ID", (mail.message_id,) if mail.message_id else ()),
        ids_line("In-Reply-To", (mail.in_reply_to,) if mail.in_reply_to else ()),
        ids_line("References", mail.references),
        word_line(TOKEN_HEADER, mail.token) if mail.token else "",
        *(word_line(name, value) for name, value in mail.headers.items()),
    ]
    if mail.automatic is not None:
        lines += [word_line(name, value) for name, value in machine_headers(mail.automatic).items()]
    return lines


def _body(mail: MailMessage) -> EmailMessage:
    """Text, HTML, or both as alternatives, and the files."""
    message = EmailMessage(policy=_POLICY)
    text, html = _lines(mail.text), _lines(mail.html)
    if text.strip() or not html.strip():
        message.set_content(text, charset="utf-8")
        if html.strip():
            message.add_alternative(html, subtype="html", charset="utf-8")
    else:
        message.set_content(html, subtype="html", charset="utf-8")
    for one in mail.files:
        maintype, subtype = _type_of(one.content_type)
        message.add_attachment(one.data, maintype=maintype, subtype=subtype, filename=attachment_name(one.filename))
    return message


def _lines(text: str) -> str:
    return "".join(f"{line}\n" for line in clean_text(text).splitlines()) or "\n"


def _type_of(content_type: str) -> tuple[str, str]:
    """The two halves of a media type; what cannot be one is a file of bytes."""
    maintype, _, subtype = content_type.lower().partition("/")
    well = all(half and half.isascii() and half.replace("-", "").replace(".", "").replace("+", "").isalnum()
               for half in (maintype, subtype))  # fmt: skip
    return (maintype, subtype) if well and maintype not in _NO_FILE_TYPES else _OCTETS


def attachment_name(name: str) -> str:
    """The name in one line and without folders: a sender may have chosen it, and a reader saves a file under it."""
    shown = "".join(one if one.isprintable() else " " for one in clean_text(name))
    # Readers take an ASCII name that looks like an encoded word (RFC 2047) for what it encodes.
    last = " ".join(shown.replace("\\", "/").rpartition("/")[2].replace("=?", "=_").split())
    return last[-LONGEST_FILE_NAME:] or "file"
