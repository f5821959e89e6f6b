"""The port behind which e-mail leaves: one mail, one effect where the provider knows a key, and two where it does not.

A handler sees which by the class: a `KeyedSender` is called in a `keyed_effect`, a `DraftingSender` in two effects of
`Strategy.FIND`, the draft and its sending.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, Self

from domain.jobs.effects import Finding
from domain.jobs.job import JsonObject
from domain.mail.parsing.parsed_message import Address


@dataclass(frozen=True, slots=True)
class EmailAttachment:
    """A file that goes with a mail."""

    name: str
    content_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """A mail that is to be sent, complete and checked: no line break in a header, at least one recipient and one body.

    `reference` is unique to the mail and the same for each attempt: visible ASCII, at most 200 characters.
    """

    reference: str
    sender: Address
    to: tuple[Address, ...]
    subject: str
    text: str | None = None
    html: str | None = None
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    attachments: tuple[EmailAttachment, ...] = ()


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
        """Whether the draft was sent; `since` is when an attempt first called. The result of `Found` is a `SentEmail`'s.

        Raises `InFlight` while the mail is nowhere and may still be on its way.
        """
        ...


EmailSender = KeyedSender | DraftingSender
"""A vendor's client in an org's name."""
