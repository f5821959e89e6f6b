"""What providers say of messages that they have taken, before or after the send is written down."""

from datetime import timedelta
from uuid import UUID

from domain.notifications.delivery import DeliveryState
from domain.notifications.receipts import Receipt
from storage.notifications import notifications, people
from storage.postgres.database import Transaction
from storage.postgres.retention import Retention

RETENTION = Retention("email_receipts", "at", timedelta(days=7), only="t.delivery_id is null")
"""Of mails that nobody knows; the others go with their deliveries."""


def record_send(tx: Transaction, org_id: UUID, delivery_id: UUID, provider_id: str) -> Receipt | None:
    """Write down which e-mail the provider knows by its id; returns the receipt that came before, if one has."""
    rows = tx.run("record_email_send", org_id=org_id, provider_id=provider_id, delivery_id=delivery_id)
    (row,) = rows
    if row.state is None and row.suppress_for is None:
        return None
    return Receipt(None if row.state is None else DeliveryState(row.state), row.reason, row.suppress_for)


def record_email_receipt(tx: Transaction, org_id: UUID, provider_id: str, receipt: Receipt) -> UUID | None:
    """Keep what the provider says of an e-mail, for the ledger role; returns the delivery, None if unknown yet."""
    rows = tx.run(
        "record_email_receipt",
        org_id=org_id,
        provider_id=provider_id,
        state=None if receipt.state is None else receipt.state.value,
        reason=receipt.reason,
        suppress_for=receipt.suppress_for,
    )
    found: UUID | None = rows[0].delivery_id
    return found


def apply(
    tx: Transaction, org_id: UUID, delivery_id: UUID, receipt: Receipt, *, provider_id: str | None = None
) -> bool:
    """Let a delivery stand where its receipt says, unless it is further; whether that was news."""
    if receipt.suppress_for is not None:
        people.suppress(tx, org_id, delivery_id, receipt.suppress_for)
    if receipt.state is None:
        return False
    return notifications.advance(tx, delivery_id, receipt.state, reason=receipt.reason, provider_id=provider_id)
