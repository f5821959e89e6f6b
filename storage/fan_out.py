"""Enqueues one job per account, a batch of accounts in one statement."""

from dataclasses import dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.job import ClaimedJob, JsonObject
from storage.database import Transaction


@dataclass(frozen=True, slots=True)
class Batch:
    """How many accounts were seen, how many jobs are new, and the last account; the next batch begins after it."""

    accounts: int
    created: int
    last: UUID | None


def to_accounts(
    tx: Transaction, parent: ClaimedJob, job_type: str, payload: JsonObject, *, after: UUID | None, batch: int
) -> Batch:
    """Enqueue a job for each active account after `after`; the relay publishes them at its pace. Ledger role only."""
    row = tx.run(
        "fan_out_to_accounts",
        job_type=job_type,
        payload=Jsonb(payload),
        after=after,
        batch=batch,
        parent_id=parent.job_id,
        actor_id=parent.origin.actor_id,
        request_id=parent.origin.request_id,
        correlation_id=parent.origin.correlation_id,
    )[0]
    return Batch(row.accounts, row.created, row.last)
