"""What a worker's main process asks of the ledger when it adopts the jobs of foreign clients."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from domain.jobs.job import Hint
from storage.postgres.database import Transaction


def find_hints(tx: Transaction, job_ids: Sequence[UUID]) -> Mapping[UUID, Hint]:
    """Hints of those of the jobs that the ledger has."""
    if not job_ids:
        return {}
    rows = tx.raw("select id, job_type, queue from jobs where id = any (%(ids)s::uuid[])", {"ids": list(job_ids)})
    return {row.id: Hint(row.id, row.job_type, row.queue) for row in rows}
