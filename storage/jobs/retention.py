"""What the ledger forgets: finished jobs, guards and processes whose time is over."""

from datetime import timedelta
from uuid import UUID

from domain.jobs.retention import FIRST_ID, JobBatch
from storage.postgres.database import Transaction


def delete_finished(tx: Transaction, *, keep_for: timedelta, batch: int, after: UUID = FIRST_ID) -> JobBatch:
    """Look at the next jobs by the order of their ids, and delete those that are past their retention."""
    return JobBatch(*tx.run("delete_finished_jobs", keep_for=keep_for, batch=batch, after=after)[0])


def purge_expired_keys(tx: Transaction, *, batch: int) -> int:
    """Delete guards past their time; returns how many."""
    return len(tx.run("purge_expired_keys", batch=batch))


def forget_workers(tx: Transaction) -> None:
    """Remove processes that have been silent for an hour."""
    tx.run("forget_workers")
