"""Who makes a mailbox's labels: one job at a time, so that a burst of jobs does not make each of them many times."""

from datetime import timedelta
from uuid import UUID

from storage.postgres.database import Transaction


def take(tx: Transaction, account_id: UUID, *, owner: UUID, lease: timedelta) -> bool:
    """Whether the job with this claim may make the labels now."""
    return bool(tx.run("take_label_lease", account_id=account_id, owner=owner, lease=lease))


def release(tx: Transaction, account_id: UUID, *, owner: UUID) -> None:
    """Let the next one; nothing happens when the lease has run out and somebody else has it."""
    tx.run("release_label_lease", account_id=account_id, owner=owner)
