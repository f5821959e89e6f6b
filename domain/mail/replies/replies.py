"""The bytes of a reply that joins its thread; no text in it can add a header."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address as HeaderAddress
from email.message import EmailMessage
from email.policy import SMTP

from domain.clean_text import clean_text
from domain.jobs.failures import Invalid
from domain.mail.parsing.parsed_message import Address, ParsedMessage
from domain.mail.replies.recipients import recipients

TOKEN_HEADER = "X-Postroom-Token"  # noqa: S105 -- the name of a header, no secret
"""Names the draft we made, so that a draft whose record was lost is found again (docs: gmail.md#lost-drafts)."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")
_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,250}>")
_ADDR_SPEC = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")
_REPLY_PREFIX = re.compile(r"(?i)\s*re\s*(?:\[\d+\])?\s*:")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_LONGEST_LINE = 990
LONGEST_REFERENCES = 900
"""All on one line below RFC 5322's 998: Python 3.11 turns ids it has to fold into encoded words, which ends threads."""
LONGEST_BODY = 100_000
LONGEST_SUBJECT = _LONGEST_LINE // 4
"""In characters: each may take four bytes of a line."""
_POLICY = SMTP.clone(max_line_length=_LONGEST_LINE, cte_type="7bit")


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
        references = message.references or ((message.in_reply_to,) if message.in_reply_to else ())
        return cls(message.subject, recipients(message, thread, own), message.message_id, references)


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


def reply_message(
    original: Original, sender: Address, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """RFC 5322 bytes, CRLF line ends, of a reply to those whom the original names.

    No Message-ID is set, because Gmail replaces it. Raises `Invalid(field, reason)` for anything that would break a
    header.
    """
    return threaded_message(Envelope.of_reply(original, sender), original, body, token=token, date=date)


def threaded_message(
    envelope: Envelope, original: Original, body: str, *, token: str | None = None, date: datetime | None = None
) -> bytes:
    """The bytes of a message in the thread of another one.

    Subject, In-Reply-To and References keep it in its thread (docs: gmail.md#drafts). `token` is written to
    `X-Postroom-Token` and as a made-up entry into References, one of which survives Gmail. Raises as `reply_message`.
    """
    message = EmailMessage(policy=_POLICY)
    message["From"] = _header_address("from", envelope.sender)
    for name, addresses in (("To", envelope.to), ("Cc", envelope.cc), ("Bcc", envelope.bcc)):
        if addresses:
            message[name] = [_header_address(name.lower(), address) for address in addresses]
    message["Subject"] = _subject(envelope.subject)
    if date is not None:
        message["Date"] = date
    parents = thread_references(original, token)
    if original.message_id is not None and original.message_id in parents:
        message["In-Reply-To"] = original.message_id
    if parents:
        message["References"] = " ".join(parents)
    if token is not None:
        message[TOKEN_HEADER] = token
    message.set_content(_body(body), charset="utf-8")
    return message.as_bytes()


def _subject(subject: str) -> str:
    if _CONTROLS.search(subject):
        raise Invalid("subject", "holds a line break or another control character")
    if len(subject) > LONGEST_SUBJECT:
        raise Invalid("subject", f"is longer than {LONGEST_SUBJECT} characters")
    return subject


def reply_subject(subject: str) -> str:
    """The subject with one `Re: `; unchanged when it has one, since Gmail threads by it. Refuses line breaks."""
    if _CONTROLS.search(subject):
        raise Invalid("subject", "holds a line break or another control character")
    text = clean_text(subject).strip()
    text = text if _REPLY_PREFIX.match(text) else f"Re: {text}".strip()
    return text[:LONGEST_SUBJECT]


def thread_references(original: Original, token: str | None = None) -> tuple[str, ...]:
    """The ids for References: the thread's first, the token's, then the latest that fit, the parent last."""
    ids = list(dict.fromkeys(_valid_ids((*original.references, original.message_id))))
    parent = [original.message_id] if original.message_id in ids else []
    earlier = [one for one in ids if one != original.message_id]
    chosen = [*earlier[:1], *_token_reference(token), *parent]
    room = LONGEST_REFERENCES - sum(len(one) + 1 for one in chosen if one)
    middle: list[str] = []
    for one in reversed(earlier[1:]):
        room -= len(one) + 1
        if room < 0:
            break
        middle.insert(0, one)
    return tuple(one for one in (*earlier[:1], *_token_reference(token), *middle, *parent) if one)


def token_reference(token: str) -> str:
    """The made-up References entry of a token; `.invalid` can never be anybody's domain (RFC 2606)."""
    if not _TOKEN.fullmatch(token):
        raise Invalid("token", "is not 8 to 64 letters, digits, hyphens or underscores")
    return f"<{token}@draft.postroom.invalid>"


def _token_reference(token: str | None) -> tuple[str, ...]:
    return () if token is None else (token_reference(token),)


def _valid_ids(ids: Sequence[str | None]) -> list[str]:
    """Ids are refused for line breaks and quietly left out when merely malformed: others wrote them."""
    for one in ids:
        if one is not None and ("\r" in one or "\n" in one):
            raise Invalid("references", "a message id holds a line break")
    return [one for one in ids if one is not None and _MESSAGE_ID.fullmatch(one)]


def _header_address(field: str, address: Address) -> HeaderAddress:
    if _CONTROLS.search(address.name) or _CONTROLS.search(address.address):
        raise Invalid(field, "holds a line break or another control character")
    if not _ADDR_SPEC.fullmatch(address.address):
        raise Invalid(field, "is no address that mail can be sent to")
    try:
        return HeaderAddress(clean_text(address.name)[:100], addr_spec=address.address)
    except (MessageError, ValueError, IndexError) as error:
        raise Invalid(field, "is no address that mail can be sent to") from error


def _body(body: str) -> str:
    text = clean_text(body)
    if not text.strip():
        raise Invalid("body", "is empty")
    if len(text) > LONGEST_BODY:
        raise Invalid("body", f"is longer than {LONGEST_BODY} characters")
    return "\n".join(text.splitlines()) + "\n"
