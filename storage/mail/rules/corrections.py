"""What owners corrected: labels of ours that they took off again."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from domain.mail.triage.corrections import KEPT, MOST_READ, Correction, Removal
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention
from storage.postgres.transaction import Asked

RETENTION = Retention(
    "label_corrections",
    "at",
    KEPT,
    only="t.id = any (array(select o.id from label_corrections o order by o.id limit 1000))",
)
"""Only so many of the oldest are looked at, by their ids, which are given out in order of time: an index on the time
would be taken for the lists of an account, too."""


def record(tx: Transaction, account_id: UUID, removals: Sequence[Removal]) -> int:
    """Keep the removals that correct a decision of ours, once each; how many were new."""
    if not removals:
        return 0
    rows = tx.run(
        "record_corrections",
        account_id=account_id,
        messages=[one.message_id for one in removals],
        labels=[one.label_id for one in removals],
        moved_to=[one.moved_to for one in removals],
    )
    return len(rows)


def recent(
    tx: Transaction, account_id: UUID, *, now: datetime, limit: int = MOST_READ
) -> Asked[tuple[Correction, ...]]:
    """The corrections that are young enough to be told, the latest first."""
    return tx.ask("list_corrections", _corrections, account_id=account_id, since=now - KEPT, limit=limit)


def _corrections(rows: Sequence[Row]) -> tuple[Correction, ...]:
    return tuple(
        Correction(row.message_id, row.sender, row.label, row.moved_to, row.classification, row.at) for row in rows
    )
