"""What a worker's main process asks of the ledger when it adopts the jobs of foreign clients."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from domain.jobs.job import Hint
from storage.postgres.database import Transaction

LOCK_WAIT = "50ms"
"""Another producer's open transaction may hold a job's key for long, and the event loop waits meanwhile."""

LONGEST_STATEMENT = "10s"
"""As on the connection for claims."""


def bound_waits(tx: Transaction) -> None:
    """Let no statement of this transaction wait for long; it raises `StatementAborted` then."""
    tx.raw(
        "select set_config('lock_timeout', %(lock)s, true), set_config('statement_timeout', %(longest)s, true)",
        {"lock": LOCK_WAIT, "longest": LONGEST_STATEMENT},
    )


def find_hints(tx: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Hint]:
    """Hints of those of the jobs that the ledger has."""
    if not job_ids:
        return {}
    rows = tx.raw(
        "select id, job_type, queue, light from jobs where id = any (%(ids)s::uuid[])", {"ids": list(job_ids)}
    )
    return {row.id: Hint(row.id, row.job_type, row.queue, row.light) for row in rows}
