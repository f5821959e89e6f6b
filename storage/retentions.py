"""What leaves the database when its time is over, in the order in which it goes."""

from collections.abc import Mapping
from typing import Protocol

from storage.jobs import effects, refusals, retention
from storage.jobs.audit_log import failure_groups, history
from storage.jobs.replays import bulk_actions
from storage.mail.accounts import consents, expected_writes
from storage.mail.rules import corrections
from storage.notifications import notifications, people, receipts, reminders
from storage.notifications.email import orders
from storage.orgs.access import api_requests, operators
from storage.planning import plans
from storage.postgres.database import Transaction
from storage.postgres.retention import Retention
from storage.workflows import runs

RETENTIONS: tuple[Retention, ...] = (
    refusals.RETENTION,
    effects.RETENTION,
    expected_writes.RETENTION,
    api_requests.RETENTION,
    corrections.RETENTION,
    orders.RETENTION,
    plans.RETENTION,
    notifications.RETENTION,
    notifications.RETENTION_OF_DIGESTS,
    receipts.RETENTION,
    people.RETENTION_OF_CODES,
    operators.RETENTION,
    reminders.RETENTION,
    *history.RETENTIONS,
    failure_groups.RETENTION,
    bulk_actions.RETENTION,
)


class Purge(Protocol):
    """Deletes or ends so many at most, of all orgs; returns how many."""

    def __call__(self, tx: Transaction, *, batch: int) -> int:
        """Do so in this transaction of the ledger role."""


BY_HAND: Mapping[str, Purge] = {
    "idempotency_keys": retention.purge_expired_keys,
    "workflow_runs": runs.forget,
    "consent_requests": consents.end_overdue,
}
"""What goes by more than its age, or ends instead of going."""
