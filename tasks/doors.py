"""The Python door: enqueue jobs in the caller's transaction, publish their hints after its commit (promise P5)."""

from collections.abc import Sequence

from domain.job import Enqueued, NewJob
from storage import ledger
from storage.database import Transaction
from tasks.runtime import runtime


def enqueue(tx: Transaction, jobs: Sequence[NewJob]) -> tuple[Enqueued, ...]:
    """Enqueue jobs of any types in one statement; those whose key is taken name the job that has it."""
    process = runtime()
    answers = ledger.enqueue(tx, jobs, publisher=True, patience=process.patience, burst=process.settings.burst)
    hints = [answer.hint for answer in answers if answer.publish]
    tx.after_commit(lambda: process.publisher.publish(hints))
    return answers
