"""A person's inbox: what they were told in the app, and whether they have read it."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Gone
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.notifications.people import person_of
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from storage.notifications import inbox

INBOX = Area("inbox", "Read a person's inbox, and mark what was read.", org="required", writes=Role.WRITER)
Seq = Annotated[int, Field(ge=1, le=2**63 - 1)]


class ItemView(Record):
    """A line of the inbox."""

    values: ClassVar = ("title", "body")
    plural: ClassVar = "items"
    columns: ClassVar = ("seq", "category", "title", "created_at", "read_at")
    seq: int = Field(description="Numbers count up in each inbox; the stream goes on after one.")
    notification_id: UUID
    category: str
    title: str
    body: str
    link: str | None
    created_at: datetime
    read_at: datetime | None


class UnreadView(Record):
    """How much is unread."""

    user_id: UUID
    unread: int = Field(description=f"Counted up to {inbox.MOST_COUNTED}.")


@INBOX.look("list", Route("GET", "/users/{user_id}/inbox"))
def list_inbox(
    call: Call,
    window: Window,
    user_id: UUID,
    *,
    unread: Annotated[bool, Field(description="Only what is unread.")] = False,
) -> Page[ItemView]:
    """List a person's inbox, the newest first."""
    with call.reading() as tx:
        person_of(tx, call.org, user_id)
        name = "list_unread_items" if unread else "list_inbox"
        return window.records(tx, name, ItemView, org_id=call.org, user_id=user_id)


@INBOX.look("unread", Route("GET", "/users/{user_id}/inbox/unread"))
def count_unread(call: Call, user_id: UUID) -> UnreadView:
    """Count what is unread."""
    with call.reading() as tx:
        person_of(tx, call.org, user_id)
        return UnreadView(user_id=user_id, unread=inbox.unread(tx, call.org, user_id))


@INBOX.deed("read", Route("POST", "/users/{user_id}/inbox/{seq}/read"), events=("inbox.read",))
def mark_read(call: Call, user_id: UUID, seq: Seq) -> ItemView:
    """Mark an item as read."""
    return _mark(call, user_id, seq, is_read=True)


@INBOX.deed("unmark", Route("POST", "/users/{user_id}/inbox/{seq}/unread"), events=("inbox.unread",))
def mark_unread(call: Call, user_id: UUID, seq: Seq) -> ItemView:
    """Mark an item as unread."""
    return _mark(call, user_id, seq, is_read=False)


@INBOX.deed("read-all", Route("POST", "/users/{user_id}/inbox/read"), events=("inbox.read",))
def mark_all_read(call: Call, user_id: UUID) -> UnreadView:
    """Mark everything as read."""
    with call.writing() as tx:
        person_of(tx, call.org, user_id)
        marked = inbox.mark_all(tx, call.org, user_id)
        call.audit(tx, call.org, {"user_id": str(user_id), "items": marked})
        return UnreadView(user_id=user_id, unread=inbox.unread(tx, call.org, user_id))


def _mark(call: Call, user_id: UUID, seq: int, *, is_read: bool) -> ItemView:
    with call.writing() as tx:
        marked = inbox.mark(tx, call.org, user_id, seq, is_read=is_read)
        if marked is None:
            raise Gone(f"seq: the inbox has no item {seq}")
        call.audit(tx, call.org, {"user_id": str(user_id), "seq": seq})
    return ItemView.model_validate(marked)
