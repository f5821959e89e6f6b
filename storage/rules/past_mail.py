"""Past messages for trying a rule, a few at a time: one body may have 200,000 characters."""

from dataclasses import dataclass
from uuid import UUID

from storage.mail.messages import Message, message_of
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A stored message with what the mailbox knew when it came."""

    message: Message
    first_contact: bool
    thread_has_my_reply: bool


def earlier(tx: Transaction, account_id: UUID, *, than: Message | None, limit: int) -> tuple[PastMessage, ...]:
    """The latest incoming messages of an account, or those before one of them, the latest first."""
    before = {"before": than and than.received_at, "before_id": than.message_id if than else ""}
    rows = tx.run("list_past_mail", account_id=account_id, limit=limit, **before)
    return tuple(PastMessage(message_of(row), row.first_contact, row.thread_has_my_reply) for row in rows)
