"""What a message says, as plain bounded values that PostgreSQL's text and jsonb accept."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.mail.parsing.auth_results import vouches_for
from domain.mail.parsing.header_text import bare_text
from domain.payloads.mail_address import Address


class Defect(StrEnum):
    """What was wrong with a message, or had to be cut, in one word each."""

    EMPTY = "empty"
    NO_HEADERS = "no_headers"
    BROKEN_HEADER = "broken_header"
    LONG_HEADER = "long_header"
    TOO_MANY_HEADERS = "too_many_headers"
    TOO_MANY_RECIPIENTS = "too_many_recipients"
    NO_SENDER = "no_sender"
    MANY_SENDERS = "many_senders"
    BAD_DATE = "bad_date"
    NUL_BYTES = "nul_bytes"
    BAD_CHARSET = "bad_charset"
    BAD_ENCODING = "bad_encoding"
    NO_BOUNDARY = "no_boundary"
    UNTERMINATED = "unterminated"
    TOO_DEEP = "too_deep"
    TOO_MANY_PARTS = "too_many_parts"
    TRUNCATED_TEXT = "truncated_text"
    HIDDEN_TEXT = "hidden_text"
    """Words that no reader sees; they are left out of the text."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part that is not the message's own text; `size` is in bytes after transfer decoding, estimated for base64."""

    filename: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class ParsedMessage:
    """A message as far as it could be understood. Lengths are bounded; `defects` says what was wrong or cut."""

    message_id: str | None
    """The RFC 5322 id with its angle brackets."""
    in_reply_to: str | None
    references: tuple[str, ...]
    subject: str
    from_: Address | None
    reply_to: tuple[Address, ...]
    to: tuple[Address, ...]
    cc: tuple[Address, ...]
    bcc: tuple[Address, ...]
    date: datetime | None
    """In UTC; None when missing or unreadable. The sender wrote it, so never order by it."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, values decoded, in the order of the message, repeated ones included."""
    content_type: str
    text: str
    """The words that a reader sees (docs: mail-limits.md#body)."""
    attachments: tuple[Attachment, ...]
    has_calendar: bool
    calendar_method: str | None
    """iTIP's METHOD in upper case (RFC 5546), such as REQUEST, REPLY or CANCEL."""
    auth_results: str
    """The topmost Authentication-Results header, undecoded; a sender writes such headers too, but none above it."""
    defects: tuple[Defect, ...]
    size: int

    @property
    def people(self) -> frozenset[str]:
        """Whoever sent or received the message, as its headers say and as addresses are compared."""
        sender = () if self.from_ is None else (self.from_,)
        return frozenset(one.key for one in (*sender, *self.to, *self.cc))

    def header(self, name: str) -> str | None:
        """The first value of a header, by its lower-case name."""
        return next((value for key, value in self.headers if key == name), None)

    def bare_values(self, name: str) -> tuple[str, ...]:
        """Every value of a header without comments and quotes, as it is compared."""
        return tuple(bare_text(value) for value in self.header_values(name))

    def bare_header(self, name: str) -> str:
        """The first value of a header without comments and quotes, or nothing."""
        return next(iter(self.bare_values(name)), "")

    def header_values(self, name: str) -> tuple[str, ...]:
        """Every value of a header, by its lower-case name."""
        return tuple(value for key, value in self.headers if key == name)

    def dmarc_passed(self, trusted_hosts: frozenset[str]) -> bool:
        """Whether the receiving host vouches for the From domain (docs: automated-mail.md#conditions).

        Only the topmost header counts, and only from a trusted host. A message with several From addresses is never
        vouched for.
        """
        if self.from_ is None or Defect.MANY_SENDERS in self.defects:
            return False
        return vouches_for(self.auth_results, trusted_hosts, self.from_.domain)
