"""A reply that joins its thread: whom it goes to, its subject, and the ids by which mailers thread it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.outgoing.header_lines import header_text, mended
from domain.mail.outgoing.outgoing_mail import MailMessage, message_bytes
from domain.mail.outgoing.senders import SenderWords
from domain.mail.outgoing.subjects import reply_subject
from domain.mail.outgoing.thread_ids import known_references, thread_ids
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.recipients import recipients
from domain.payloads.mail_address import Address, check_address

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
        return cls(message.subject, (), message.message_id, known_references(message))


@dataclass(frozen=True, slots=True)
class MessageHead:
    """What a reader sees above a message."""

    sender: Address
    to: tuple[Address, ...]
    subject: str
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()

    @classmethod
    def of_reply(cls, original: Original, sender: SenderWords) -> "MessageHead":
        """A new reply's."""
        return cls(sender.address, original.to, reply_subject(original.subject), reply_to=sender.reply_to)

    @classmethod
    def of_draft(cls, draft: ParsedMessage, sender: Address) -> "MessageHead":
        """A draft's, with whatever its person changed there."""
        return cls(draft.from_ or sender, draft.to, draft.subject, draft.cc, draft.bcc, draft.reply_to)

    def check(self) -> None:
        """Raise `Invalid` with the header for an address that no mail can be sent to; before a model is paid."""
        for name, addresses in (("from", (self.sender,)), ("to", self.to), ("cc", self.cc), ("bcc", self.bcc)):
            for one in addresses:
                check_address(name, one.address)


def reply_message(
    original: Original, sender: SenderWords, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """RFC 5322 bytes, CRLF line ends, of a reply to those whom the original names; `body` has its signature.

    No Message-ID is set, because Gmail replaces it. Raises `Invalid(field, reason)` for an address that no mail can be
    sent to, and for a body that is empty or too long.
    """
    return threaded_message(MessageHead.of_reply(original, sender), original, body, token=token, date=date)


def threaded_message(
    envelope: MessageHead, original: Original, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """The bytes of a message in the thread of another one.

    Subject, In-Reply-To and References keep it in its thread (docs: gmail.md#drafts). `token` is written to
    `X-Postroom-Token` and as a made-up entry into References, one of which survives Gmail. Raises as `reply_message`.
    """
    parents = thread_ids(original.references, original.message_id, token)
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
        reply_to=tuple(map(mended, envelope.reply_to)),
        in_reply_to=original.message_id if original.message_id in parents else None,
        references=parents,
    )
    return message_bytes(mail)


def _body(body: str) -> str:
    text = clean_text(body)
    if not text.strip():
        raise Invalid("body", "is empty")
    if len(text) > LONGEST_BODY:
        raise Invalid("body", f"is longer than {LONGEST_BODY} characters")
    return text
