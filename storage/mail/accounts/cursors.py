"""How far each mailbox's history has been read; the cursor moves forward within a history (docs: gmail.md#history)."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where history was read to, as an unsigned 64-bit number, and when the whole mailbox was last looked through."""

    history_id: int | None
    full_synced_at: datetime | None


def current(tx: Transaction, account_id: UUID) -> Cursor:
    """The stored cursor; raises `Gone` without the account."""
    row = tx.one("read_cursor", f"there is no account {account_id}", account_id=account_id)
    history_id = row.history_id
    return Cursor(None if history_id is None else int(history_id), row.full_synced_at)


def advance_cursor(tx: Transaction, account_id: UUID, history_id: int) -> bool:
    """Move the cursor forward, in the transaction that stores what it passes; false when it is as far already."""
    return bool(tx.run("advance_cursor", account_id=account_id, history_id=history_id))


def set_first_cursor(tx: Transaction, account_id: UUID, history_id: int) -> bool:
    """Where history begins; false when the account has a cursor."""
    return bool(tx.run("set_first_cursor", account_id=account_id, history_id=history_id))


def replace_cursor(tx: Transaction, account_id: UUID, history_id: int, *, unknown: int) -> bool:
    """Go back to where the mailbox's history stands, which does not know the later id that is stored.

    The one way back: an address was given to another mailbox, whose ids are lower.
    """
    return bool(tx.run("replace_cursor", account_id=account_id, history_id=history_id, unknown=unknown))


def mark_full_sync(tx: Transaction, account_id: UUID, at: datetime, *, asked: str) -> None:
    """The whole mailbox was looked through as it stood then; `asked` names the models that classify."""
    tx.run("mark_full_sync", account_id=account_id, at=at, asked=asked)
