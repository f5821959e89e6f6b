"""How entries leave the audit log: by the one function that may delete them."""

from datetime import timedelta
from typing import NamedTuple

from storage.postgres.database import Transaction

BLOCKS = 64
"""Blocks of the table that a batch looks through: some 1,500 entries."""


class DeletedBatch(NamedTuple):
    """What one batch did, and whether there may be more to do at once."""

    deleted: int
    is_more: bool


def delete_some(tx: Transaction, *, keep_for: timedelta, blocks: int = BLOCKS) -> DeletedBatch:
    """Delete exported and counted entries older than `keep_for`, of jobs that have left the ledger."""
    delete = "select deleted, more from postroom.delete_audit_entries(%(keep_for)s, %(blocks)s)"
    return DeletedBatch(*tx.raw(delete, {"keep_for": keep_for, "blocks": blocks})[0])
