"""How the gateway writes a decision: in a transaction of the ledger's, with the jobs that follow from it."""

from uuid import UUID

from domain.jobs.job import Enqueued, Origin
from domain.payloads.payload import Payload, jobs_of
from gateway.http.resources import Resources
from storage.ledger import ledger
from storage.postgres.database import Transaction


def enqueue(
    resources: Resources, org_id: UUID, origin: Origin, tx: Transaction, *payloads: Payload
) -> tuple[Enqueued, ...]:
    """Enqueue in the caller's transaction; the notification wakes the relay, which publishes."""
    jobs = jobs_of(payloads, org_id=org_id, origin=origin)
    return tuple(ledger.enqueue(tx, jobs, publisher=False, hint_timeout=resources.hint_timeout))
