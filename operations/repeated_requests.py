"""Requests that make something and may be sent again after a lost answer: once per `Idempotency-Key` of an org."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from domain.jobs.failures import Invalid
from domain.jobs.job_request import KEY_FIELD
from storage.orgs.access import api_requests
from storage.orgs.access.api_requests import StoredRequest
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request, its key if it has one, and what tells it from another request with the same key."""

    key: str | None
    fingerprint: bytes

    def earlier(self, tx: Transaction, org_id: UUID) -> StoredRequest | None:
        """The same request that was made before, or None: then the key is taken, in the caller's transaction.

        Call it before anything else is checked, for what was accepted once may not pass any more. A request that is
        under way with the key is waited for. Raises `Invalid` when the key belongs to another request.
        """
        if self.key is None:
            return None
        stored = api_requests.remember(tx, org_id, self.key, self.fingerprint)
        if stored is not None and stored.fingerprint != self.fingerprint:
            raise of_another()
        return stored

    def keep(self, tx: Transaction, org_id: UUID, made: Sequence[UUID]) -> None:
        """Keep what the request made, in the transaction that made it."""
        if self.key is not None:
            api_requests.answer(tx, org_id, self.key, made)


def of_another() -> Invalid:
    """The key is taken by a request that asked for something else."""
    return Invalid(KEY_FIELD, "belongs to another request, which asked for something else")
