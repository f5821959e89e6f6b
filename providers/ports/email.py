"""The port behind which e-mail leaves: one mail, one effect where the provider knows a key, and two where it does not.

A handler sees which by the class: a `KeyedSender` is called in a `keyed_effect`, a `DraftingSender` in two effects of
`Strategy.FIND`, the draft and its sending.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self

from domain.jobs.effects import Finding
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.payloads.mail_address import Address

LONGEST_HEADER = 900
"""Characters of a further header's value, which stands in one line of at most 998 (RFC 5322 section 2.1.1)."""

_HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
_REFERENCE = re.compile(r"[!-~]{1,200}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class EmailAttachment:
    """A file that goes with a mail. `read` is called where the bytes are needed: a draft is found without them."""

    name: str
    content_type: str
    size: int
    read: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """A mail that is to be sent, complete and checked; raises `Invalid` by field for what is not.

    `reference` is unique to the mail and the same for each attempt. Nothing else of the mail shows in a log.
    """

    reference: str
    sender: Address = field(repr=False)
    to: tuple[Address, ...] = field(repr=False)
    subject: str = field(repr=False)
    text: str | None = field(default=None, repr=False)
    html: str | None = field(default=None, repr=False)
    cc: tuple[Address, ...] = field(default=(), repr=False)
    bcc: tuple[Address, ...] = field(default=(), repr=False)
    reply_to: tuple[Address, ...] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    attachments: tuple[EmailAttachment, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Refuse, with the field, what no vendor may be given: most would take it and make another mail of it."""
        if not _REFERENCE.fullmatch(self.reference):
            raise Invalid("reference", "must be 1 to 200 visible characters of ASCII")
        if not self.to:
            raise Invalid("to", "names nobody")
        if self.text is None and self.html is None:
            raise Invalid("text", "is missing, and so is html")
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not value.isascii() or len(value) > LONGEST_HEADER:
                raise Invalid(
                    "headers", f"must have names of letters, and ASCII of at most {LONGEST_HEADER} characters"
                )
        for name, values in self._lines():
            if any(_CONTROL.search(value) for value in values):
                raise Invalid(name, "holds a line break or another control character")

    def _lines(self) -> Iterator[tuple[str, Iterable[str]]]:
        """What stands in one line of a header each."""
        yield "subject", [self.subject]
        for name in ("to", "cc", "bcc", "reply_to"):
            yield name, [text for one in getattr(self, name) for text in (one.name, one.address)]
        yield "sender", [self.sender.name, self.sender.address]
        yield "headers", self.headers.values()
        yield "attachments", [text for one in self.attachments for text in (one.name, one.content_type)]


@dataclass(frozen=True, slots=True)
class SentEmail:
    """What a provider says of a mail that it took. `message_id` is its `Message-ID`, where the provider tells it."""

    provider_id: str
    message_id: str | None = None

    def as_json(self) -> JsonObject:
        """The result of an effect."""
        return {"provider_id": self.provider_id, "message_id": self.message_id}


@dataclass(frozen=True, slots=True)
class DraftRef:
    """A draft that is complete, and how the mail is found that becomes of it: its id may change at the send."""

    draft_id: str
    message_id: str
    reference: str

    def as_json(self) -> JsonObject:
        """The result of the effect that makes the draft."""
        return {"draft_id": self.draft_id, "message_id": self.message_id, "reference": self.reference}

    @classmethod
    def from_json(cls, result: JsonObject) -> Self:
        """The draft of such a result."""
        return cls(str(result["draft_id"]), str(result["message_id"]), str(result["reference"]))


class KeyedSender(Protocol):
    """A provider that knows a key and compares what is sent with it (`Strategy.NATIVE_KEY`)."""

    def request(self, email: OutgoingEmail) -> bytes:
        """The request that sends the mail; it is stored before the first call. Raises `Invalid` by field."""
        ...

    def send(self, key: str, request: bytes) -> SentEmail:
        """Send the stored bytes; a repeat under the same key returns the first answer."""
        ...


class DraftingSender(Protocol):
    """A provider that makes a draft first and sends it then; both can be found (`Strategy.FIND`)."""

    def create_draft(self, email: OutgoingEmail) -> DraftRef:
        """Make the draft with all its attachments. Raises `Invalid` by field."""
        ...

    def find_draft(self, email: OutgoingEmail) -> DraftRef | None:
        """The draft that an earlier attempt made, completed where that attempt broke off; None for none."""
        ...

    def send_draft(self, draft: DraftRef) -> SentEmail:
        """Send the draft."""
        ...

    def find_sent(self, draft: DraftRef, *, since: datetime, now: datetime) -> Finding:
        """Whether the draft was sent; `since` is when an attempt first called. `Found` has the JSON of a `SentEmail`.

        Raises `InFlight` while the mail is nowhere and may still be on its way.
        """
        ...
