"""What a mailbox holds and reports, as plain values; providers return them, jobs and rules read them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

ChangeKind = Literal["message_added", "message_deleted", "labels_added", "labels_removed"]

INBOX = "INBOX"
SENT = "SENT"
DRAFT = "DRAFT"
TRASH = "TRASH"
SPAM = "SPAM"
BINS = frozenset({TRASH, SPAM})
"""The labels of what its person has thrown away."""
UNREAD = "UNREAD"
STARRED = "STARRED"
_CATEGORIES = ("PERSONAL", "SOCIAL", "PROMOTIONS", "UPDATES", "FORUMS")
SYSTEM_LABELS = frozenset(
    {INBOX, SENT, DRAFT, TRASH, SPAM, UNREAD, STARRED, "IMPORTANT", "CHAT"} | {f"CATEGORY_{one}" for one in _CATEGORIES}
)
"""Labels that every mailbox has (docs: gmail.md#labels)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened in a mailbox. `history_id` is an unsigned 64-bit number, in order, with gaps."""

    history_id: int
    kind: ChangeKind
    message_id: str
    thread_id: str
    label_ids: frozenset[str] = frozenset()
    """For label changes: the labels added or removed. For messages: the labels the message carries."""


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """One page of changes, oldest first. A page without changes may still have a next page."""

    changes: tuple[Change, ...]
    next_page: str | None
    history_id: int
    """The mailbox's current history id; the new cursor only once no page is left."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """A message by its ids."""

    message_id: str
    thread_id: str


@dataclass(frozen=True, slots=True)
class MessagePage:
    """One page of a message search."""

    messages: tuple[MessageRef, ...]
    next_page: str | None


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as the mailbox keeps it: RFC 822 bytes and the provider's own facts."""

    message_id: str
    thread_id: str
    history_id: int
    label_ids: frozenset[str]
    received_at: datetime
    raw: bytes
    size: int


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """A message without its body. Header names are lower-case; a repeated header keeps its first value."""

    message_id: str
    thread_id: str
    history_id: int
    label_ids: frozenset[str]
    received_at: datetime
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """A thread with its messages in order, without bodies."""

    thread_id: str
    history_id: int
    messages: tuple[MessageFacts, ...]


@dataclass(frozen=True, slots=True)
class MailboxLabel:
    """A label; the id is stable, the name is not."""

    label_id: str
    name: str
    kind: Literal["system", "user"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft: `draft_id` is stable, `message_id` changes at every edit and at send."""

    draft_id: str
    message_id: str
    thread_id: str
    label_ids: frozenset[str] = frozenset()

    @property
    def is_draft(self) -> bool:
        """False for a draft in the trash or in spam, which its person has thrown away.

        And for the wrapper that Gmail may return for a while around a sent message (docs: gmail.md#drafts).
        """
        return DRAFT in self.label_ids and self.label_ids.isdisjoint({SENT} | BINS)


@dataclass(frozen=True, slots=True)
class Profile:
    """Whose mailbox it is and where its history stands."""

    email: str
    history_id: int


@dataclass(frozen=True, slots=True)
class Watch:
    """A push watch; `history_id` must never overwrite an older, not yet processed cursor."""

    history_id: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class AttachmentPart:
    """A file of a message, as the mailbox lists it. `attachment_id` is good for this listing only: it changes."""

    part_id: str
    filename: str
    content_type: str
    size: int
    attachment_id: str | None
    """None: the content came with the listing, in `data`."""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SenderAddress:
    """An address that the account may write from. An alias counts once its owner has verified it."""

    address: str
    name: str = ""
    reply_to: str | None = None
    signature: str = ""
    """As plain text."""
    is_primary: bool = False
    is_default: bool = False
    is_verified: bool = True
