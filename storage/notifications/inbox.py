"""The inbox of a person: items in the order of their numbers."""

import re
from collections.abc import Sequence
from uuid import UUID

from domain.notifications.template import RenderedWords
from storage.jobs.leadership import Session
from storage.postgres.database import Transaction
from storage.postgres.execution import Row, translated

CHANNEL = "postroom_inbox"
"""The name of PostgreSQL's notification that an inbox has a new item; what it says is the person's id."""
_ID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOST_COUNTED = 1_000
"""Unread items are counted so far: more is more than anybody reads."""


def add(tx: Transaction, notification: tuple[UUID, UUID, UUID], category: str, words: RenderedWords) -> int | None:
    """Put a notification, named by org, person and id, into its person's inbox; returns the number, None if known.

    The person's numbers are given one transaction after the other, so a reader who has seen one has seen all before it.
    """
    org_id, user_id, notification_id = notification
    rows = tx.run(
        "add_inbox_item",
        org_id=org_id,
        user_id=user_id,
        notification_id=notification_id,
        category=category,
        title=words.title,
        body=words.body,
        link=words.link,
    )
    return rows[0].seq if rows else None


def after(tx: Transaction, org_id: UUID, user_id: UUID, seq: int, *, limit: int) -> Sequence[Row]:
    """A person's items that follow a number, in order."""
    return tx.run("list_inbox_after", org_id=org_id, user_id=user_id, seq=seq, limit=limit)


def newest(tx: Transaction, org_id: UUID, user_id: UUID) -> int:
    """The newest number; 0 when there is none."""
    return int(tx.run("find_newest_item", org_id=org_id, user_id=user_id)[0].seq)


def unread(tx: Transaction, org_id: UUID, user_id: UUID) -> int:
    """How many items are unread, at most `MOST_COUNTED`."""
    return int(tx.run("count_unread", org_id=org_id, user_id=user_id, most=MOST_COUNTED)[0].unread)


def mark(tx: Transaction, org_id: UUID, user_id: UUID, seq: int, *, is_read: bool) -> Row | None:
    """Mark an item as read or unread; None when there is none."""
    rows = tx.run("mark_item", org_id=org_id, user_id=user_id, seq=seq, is_read=is_read)
    return rows[0] if rows else None


def mark_all(tx: Transaction, org_id: UUID, user_id: UUID) -> int:
    """Mark every item as read; returns how many were not."""
    return int(tx.run("mark_all_items", org_id=org_id, user_id=user_id)[0].marked)


def listen(session: Session) -> None:
    """Subscribe to the notification of new items, of all inboxes."""
    session.execute(f"listen {CHANNEL}")


def heard(session: Session, seconds: float) -> frozenset[UUID]:
    """Wait for notifications and return whose inboxes have new items; also a check that the session lives."""
    with translated():
        session.execute("select 1")
        found = {notice.payload for notice in session.notifies(timeout=seconds, stop_after=1)}
        found |= {notice.payload for notice in session.notifies(timeout=0)} if found else set()
    # Every login of the database may notify, and say anything.
    return frozenset(UUID(one) for one in found if _ID.fullmatch(one))
