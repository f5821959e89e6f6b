"""The Protocols behind which each vendor stands; jobs see these and nothing else of a provider.

Every method either returns a domain value or raises a `domain.jobs.failures.Failure`. No method retries. Every request
is metered first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from domain.mail.mailbox import (
    AttachmentPart,
    Draft,
    HistoryPage,
    MailboxLabel,
    MessageFacts,
    MessagePage,
    Profile,
    RawMessage,
    SenderAddress,
    ThreadFacts,
    Watch,
)

Meter = Callable[[str, int], None]
"""Hears of each call before it is made, by method and units, and forbids it by raising `Throttled`.

Every client takes one as the required keyword `meter` and asks it once per request; `tests/providers/test_meters.py`
holds each implementation of a port to that.
"""


class Mailbox(Protocol):
    """One account's mailbox. Not thread-safe: build one per thread, after any fork."""

    def profile(self) -> Profile:
        """Whose mailbox it is and its current history id."""
        ...

    def history(self, start: int, page: str | None = None) -> HistoryPage:
        """One page of changes since `start`; raises `Gone` when the id is too old (a normal event)."""
        ...

    def search(self, query: str, *, label_ids: Sequence[str] = (), page: str | None = None) -> MessagePage:
        """One page of messages that match; search lags behind, so never prove an absence with it."""
        ...

    def message(self, message_id: str) -> RawMessage:
        """The whole message."""
        ...

    def message_facts(self, message_id: str) -> MessageFacts:
        """Labels and headers of a message."""
        ...

    def attachments(self, message_id: str) -> tuple[AttachmentPart, ...]:
        """The files of a message; their ids are good for fetching them now, and change with each listing."""
        ...

    def attachment(self, message_id: str, part: AttachmentPart) -> bytes:
        """The content of a file that was listed."""
        ...

    def send_as(self) -> tuple[SenderAddress, ...]:
        """The addresses that the account may write from: its own, and the aliases with their verification."""
        ...

    def thread(self, thread_id: str) -> ThreadFacts:
        """A thread with labels and headers of its messages."""
        ...

    def labels(self) -> tuple[MailboxLabel, ...]:
        """All labels, system and user."""
        ...

    def create_label(self, name: str) -> MailboxLabel:
        """Make a label; raises `Conflict` when the name, or one Gmail takes for the same, exists."""
        ...

    def modify_message(self, message_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> frozenset[str]:
        """Add and remove labels by id; returns the labels the message carries afterwards."""
        ...

    def modify_thread(self, thread_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> None:
        """Add and remove labels on every message that the thread has now."""
        ...

    def trash_message(self, message_id: str) -> frozenset[str]:
        """Move a message to the trash; returns the labels it carries afterwards."""
        ...

    def untrash_message(self, message_id: str) -> frozenset[str]:
        """Take a message out of the trash; returns the labels it carries afterwards, INBOX among them or not."""
        ...

    def delete_message(self, message_id: str) -> None:
        """Delete a message for good; raises `Unauthorised` for a consent that does not cover it."""
        ...

    def create_draft(self, raw: bytes, *, thread_id: str | None) -> Draft:
        """Make a draft from RFC 822 bytes; thread headers must be in them, or the draft is a ghost."""
        ...

    def update_draft(self, draft_id: str, raw: bytes, *, thread_id: str | None) -> Draft:
        """Replace a draft's message; thread id and reply headers must be given again."""
        ...

    def draft(self, draft_id: str) -> Draft:
        """A draft by its id; check `is_draft`. Raises `Gone` when sent or discarded."""
        ...

    def drafts(self, page: str | None = None) -> tuple[tuple[Draft, ...], str | None]:
        """One page of drafts and the next page's token: ids only, `label_ids` is empty. Some lie in the trash."""
        ...

    def delete_draft(self, draft_id: str) -> None:
        """Discard a draft for good."""
        ...

    def send_draft(self, draft_id: str) -> MessageFacts:
        """Send a draft, which consumes it; raises `Gone` the second time."""
        ...

    def watch(self, topic: str) -> Watch:
        """Start or renew push notifications for every label."""
        ...

    def stop_watch(self) -> None:
        """Stop push notifications."""
        ...


@dataclass(frozen=True, slots=True)
class Notice:
    """An alert in words; each attempt to deliver it has the same id and the same words."""

    notice_id: UUID
    kind: str
    title: str
    text: str
    facts: dict[str, Any]


class AlertChannel(Protocol):
    """Where alerts go. A notice that comes twice has its id in both, and does no harm."""

    def send(self, notice: Notice) -> str | None:
        """Deliver a notice once; returns the receiver's id for it, if it gives one."""
        ...
