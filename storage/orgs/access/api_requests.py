"""Requests that came with an idempotency key, so that the same request is answered with what the first one made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from storage.postgres.database import Transaction
from storage.postgres.retention import Retention

KEEP_FOR = timedelta(days=30)
"""As long as a job's own key is remembered by default: a client that comes later has not just lost an answer."""

RETENTION = Retention("api_requests", "expires_at")


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """An earlier request with the same key, and what it made: jobs, actions, rules or directions, in their order.

    `job_type` is the type of a job that it made; None when it made something else, or the job is past its retention.
    """

    fingerprint: bytes
    made: tuple[UUID, ...]
    job_type: str | None


def remember(tx: Transaction, org_id: UUID, key: str, fingerprint: bytes) -> StoredRequest | None:
    """Take a key for a request, in the transaction that will do it; or return the request that has it.

    A request that is under way with the same key is waited for.
    """
    if tx.run("remember_api_request", org_id=org_id, key=key, fingerprint=fingerprint, keep_for=KEEP_FOR):
        return None
    row = tx.run("find_api_request", org_id=org_id, key=key)[0]
    return StoredRequest(bytes(row.fingerprint), tuple(row.made), row.job_type)


def answer(tx: Transaction, org_id: UUID, key: str, made: Sequence[UUID]) -> None:
    """Keep what the request made."""
    tx.run("answer_api_request", org_id=org_id, key=key, made=list(made))
