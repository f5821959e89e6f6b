"""What a mailbox's changes ask for: changes in, intents out (docs: mailbox-sync.md#sync).

Each change is looked at by itself and the result is only de-duplicated, so that replayed history, changes reported
twice and any cut into pages lead to the same intents.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from domain.mail.correspondence import LabelRole
from domain.mail.mailbox import BINS, DRAFT, INBOX, SENT, Change, HistoryPage


@dataclass(frozen=True, slots=True)
class Ingest:
    """Fetch a message and classify it if it is in the inbox; history does not always tell the labels."""

    message_id: str
    thread_id: str


@dataclass(frozen=True, slots=True)
class Cleanup:
    """The person put Done on a thread."""

    thread_id: str
    action: Literal["done"] = "done"


@dataclass(frozen=True, slots=True)
class Rework:
    """The person put Rework on a thread."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class WriteManual:
    """The person put Needs Response on a thread."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class CheckSent:
    """A message that was our draft is gone: sent, thrown away, or merely edited (docs: gmail.md#history).

    Or a message of a thread with a draft of ours was thrown away.
    """

    thread_id: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Sent:
    """A message was sent in this thread, from our draft or without it."""

    thread_id: str
    message_id: str


Intent = Ingest | Cleanup | Rework | WriteManual | CheckSent | Sent


@dataclass(frozen=True, slots=True)
class OwnWrite:
    """A label that we put on a thread ourselves; it comes back as history and must change nothing."""

    thread_id: str
    label_id: str


BY_ROLE: dict[LabelRole, type[Cleanup | Rework | WriteManual]] = {
    LabelRole.DONE: Cleanup,
    LabelRole.REWORK: Rework,
    LabelRole.NEEDS_RESPONSE: WriteManual,
}
"""What a person asks for by one of our labels on a thread."""


def route(
    changes: Iterable[Change],
    roles: Mapping[str, LabelRole],
    draft_message_ids: frozenset[str] = frozenset(),
    own_writes: frozenset[OwnWrite] = frozenset(),
) -> tuple[Intent, ...]:
    """The intents of a run of changes, oldest first, each once.

    `roles` maps label ids of the account to our roles; other label ids are passed over. A label on a thread gives
    one intent however many messages carried it. `draft_message_ids` are drafts of ours, and messages of threads with
    one: only of these it is asked what their going to the trash, to spam or for good means. Removed labels ask for
    nothing.
    """
    intents: dict[Intent, None] = {}
    for change in changes:
        for intent in _intents_of(change, roles, draft_message_ids, own_writes):
            intents.setdefault(intent)
    return tuple(intents)


def next_cursor(stored: int, page: HistoryPage) -> int:
    """The cursor to store with a page's intents; it never goes back.

    With pages left it is the newest change that is now stored, not the mailbox's current id, which would jump over
    the pages to come (docs: gmail.md#history).
    """
    if page.next_page is None:
        return max(stored, page.history_id)
    return max([stored, *(change.history_id for change in page.changes)])


def _intents_of(
    change: Change,
    roles: Mapping[str, LabelRole],
    draft_message_ids: frozenset[str],
    own_writes: frozenset[OwnWrite],
) -> Iterator[Intent]:
    if change.kind == "message_added":
        yield from _added(change)
    elif is_thrown_away(change) and change.message_id in draft_message_ids:
        yield CheckSent(change.thread_id, change.message_id)
    if change.kind == "labels_added":
        yield from _labelled(change, roles, own_writes)


def is_thrown_away(change: Change) -> bool:
    """Whether a message was deleted for good, or went to the trash or to spam."""
    return change.kind == "message_deleted" or (change.kind == "labels_added" and bool(change.label_ids & BINS))


def _added(change: Change) -> Iterator[Intent]:
    if change.label_ids & {DRAFT, *BINS}:
        return
    if SENT in change.label_ids:
        yield Sent(change.thread_id, change.message_id)
    if INBOX in change.label_ids or not change.label_ids:
        yield Ingest(change.message_id, change.thread_id)


def _labelled(change: Change, roles: Mapping[str, LabelRole], own_writes: frozenset[OwnWrite]) -> Iterator[Intent]:
    # Sorted, because a set has no order of its own and the same history must give the same intents.
    for label_id in sorted(change.label_ids):
        if OwnWrite(change.thread_id, label_id) in own_writes:
            continue
        if label_id == INBOX:
            # Moved in from spam or the archive: it may never have been ingested; ingesting twice changes nothing.
            yield Ingest(change.message_id, change.thread_id)
        role = roles.get(label_id)
        if role in BY_ROLE:
            yield BY_ROLE[role](change.thread_id)
