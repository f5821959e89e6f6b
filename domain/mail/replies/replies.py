"""A reply that joins its thread: whom it goes to, its subject, and the ids by which mailers thread it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import LONGEST_ID, header_text, mended
from domain.mail.outgoing.outgoing_mail import MailMessage, message_bytes
from domain.mail.outgoing.subjects import reply_subject
from domain.mail.parsing.parsed_message import Address, ParsedMessage
from domain.mail.replies.recipients import check_writable, recipients

_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")
LONGEST_REFERENCES = 900
"""Characters of the ids from the middle of a thread: its beginning and the message that is answered are always named,
and the latest of the others say to mailers where it has got to."""
LONGEST_BODY = 100_000


@dataclass(frozen=True, slots=True)
class Original:
    """The facts of the message that is answered; `to` is whom the reply goes to, as `recipients` chose them."""

    subject: str
    to: tuple[Address, ...]
    message_id: str | None = None
    references: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, message: ParsedMessage, thread: Sequence[ParsedMessage] = (), own: Collection[str] = frozenset()
    ) -> "Original":
        """The facts of a parsed message of a thread; raises `Invalid` when nobody can be answered by a machine."""
        return replace(cls.in_thread(message), to=recipients(message, thread, own))

    @classmethod
    def in_thread(cls, message: ParsedMessage) -> "Original":
        """The facts for a mail whose recipients somebody else has chosen."""
        references = message.references or ((message.in_reply_to,) if message.in_reply_to else ())
        return cls(message.subject, (), message.message_id, references)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a reader sees above a message."""

    sender: Address
    to: tuple[Address, ...]
    subject: str
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()

    @classmethod
    def of_reply(cls, original: Original, sender: Address) -> "Envelope":
        """A new reply's."""
        return cls(sender, original.to, reply_subject(original.subject))

    @classmethod
    def of_draft(cls, draft: ParsedMessage, sender: Address) -> "Envelope":
        """A draft's, with whatever its person changed there."""
        return cls(draft.from_ or sender, draft.to, draft.subject, draft.cc, draft.bcc)

    def check(self) -> None:
        """Raise `Invalid` with the header for an address that no mail can be sent to; before a model is paid."""
        for name, addresses in (("from", (self.sender,)), ("to", self.to), ("cc", self.cc), ("bcc", self.bcc)):
            check_writable(name, addresses)


def reply_message(
    original: Original, sender: Address, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """RFC 5322 bytes, CRLF line ends, of a reply to those whom the original names.

    No Message-ID is set, because Gmail replaces it. Raises `Invalid(field, reason)` for an address that no mail can be
    sent to, and for a body that is empty or too long.
    """
    return threaded_message(Envelope.of_reply(original, sender), original, body, token=token, date=date)


def threaded_message(
    envelope: Envelope, original: Original, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """The bytes of a message in the thread of another one.

    Subject, In-Reply-To and References keep it in its thread (docs: gmail.md#drafts). `token` is written to
    `X-Postroom-Token` and as a made-up entry into References, one of which survives Gmail. Raises as `reply_message`.
    """
    parents = thread_references(original, token)
    mail = MailMessage(
        sender=mended(envelope.sender),
        to=tuple(map(mended, envelope.to)),
        cc=tuple(map(mended, envelope.cc)),
        bcc=tuple(map(mended, envelope.bcc)),
        subject=header_text(envelope.subject),
        text=_body(body),
        html="",
        token=token,
        date=date,
        in_reply_to=original.message_id if original.message_id in parents else None,
        references=parents,
    )
    return message_bytes(mail)


def thread_references(original: Original, token: str | None = None) -> tuple[str, ...]:
    """The ids for References: the thread's first, the token's, then the latest that fit, the parent last."""
    ids = list(dict.fromkeys(one for one in (*original.references, original.message_id) if one and _is_writable(one)))
    parent = [original.message_id] if original.message_id in ids else []
    earlier = [one for one in ids if one != original.message_id]
    first = [*earlier[:1], *([] if token is None else [token_reference(token)])]
    room = LONGEST_REFERENCES - sum(len(one) + 1 for one in (*first, *parent) if one)
    middle: list[str] = []
    for one in reversed(earlier[1:]):
        room -= len(one) + 1
        if room < 0:
            break
        middle.insert(0, one)
    return tuple(one for one in (*first, *middle, *parent) if one)


def token_reference(token: str) -> str:
    """The made-up References entry of a token; `.invalid` can never be anybody's domain (RFC 2606)."""
    if not _TOKEN.fullmatch(token):
        raise Invalid("token", "is not 8 to 64 letters, digits, hyphens or underscores")
    return f"<{token}@draft.postroom.invalid>"


def _is_writable(message_id: str) -> bool:
    """Whether an id fits a line; what others wrote there is repeated as it is (RFC 5322, 3.6.4)."""
    return len(message_id) <= LONGEST_ID and header_text(message_id) == message_id


def _body(body: str) -> str:
    text = clean_text(body)
    if not text.strip():
        raise Invalid("body", "is empty")
    if len(text) > LONGEST_BODY:
        raise Invalid("body", f"is longer than {LONGEST_BODY} characters")
    return text
