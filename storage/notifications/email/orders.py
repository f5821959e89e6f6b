"""Mails that services ordered: the words, and what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import AwareDatetime, ValidationError

from domain.jobs.contract import first_problem
from domain.jobs.effects import KEEP_EFFECT_FOR
from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.notifications.sender import EmailProvider, SenderIdentity
from domain.payloads.email import EmailOrder
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

KEEP_FOR = KEEP_EFFECT_FOR
"""How long an order is kept that has ended: as long as its effect's key, which a replay of its job would find."""

RETENTION = Retention(
    "email_orders",
    "ended_at",
    KEEP_FOR,
    # One that is dead stays while somebody may replay its job, which names it: a delivery's order has its id.
    only="""t.state <> 'queued' and (t.state <> 'dead' or not exists (
      select from dead_letters d
      where d.org_id = t.org_id and d.state = 'open' and (
        d.job_type = 'email.send' and d.payload ->> 'order_id' = t.id::text
        or d.job_type = 'notifications.send_email' and d.payload ->> 'delivery_id' = t.id::text)))""",
)

OrderState = Literal["queued", "sent", "failed", "dead", "canceled"]


class OrderDraft(NamedTuple):
    """The draft that an order's mail is sent from, in the mailbox that the order is bound to."""

    draft_id: str
    message_id: str
    """Empty where the mailbox did not tell it."""


@dataclass(frozen=True, slots=True)
class StoredOrder:
    """An order as its row keeps it."""

    order_id: UUID
    org_id: UUID
    words: JsonObject
    reference: str | None
    state: OrderState
    bound: SenderIdentity | None
    """By whom an attempt was about to send it."""
    draft: OrderDraft | None
    provider_id: str | None
    message_id: str | None
    error: JsonObject | None
    created_at: datetime
    ended_at: datetime | None

    @property
    def order(self) -> EmailOrder:
        """What is to be sent; raises `Invalid` with the field: by SQL, an order comes in unchecked."""
        try:
            return EmailOrder.model_validate(self.words)
        except ValidationError as error:
            raise first_problem(error, under="email.") from None

    @property
    def provider(self) -> EmailProvider | None:
        """Who sent it, or was about to."""
        return None if self.bound is None else self.bound.provider

    @property
    def recipients(self) -> int | None:
        """How many addresses get the mail; None for what is no order."""
        try:
            return self.order.recipients
        except Invalid:
            return None


class OrderPosition(NamedTuple):
    """Where a list is: the last order that was shown."""

    created_at: AwareDatetime
    order_id: UUID


def keep(tx: Transaction, org_id: UUID, order: EmailOrder, *, delivery_id: UUID | None = None) -> UUID:
    """Keep the words of a mail, to be sent by a job; returns the order's id.

    The order of a notification's delivery has its id, and the words that were kept first stay. They are shown to no job
    of a project: they may be of another one.
    """
    rows = tx.raw(
        "select postroom.keep_email_order(%(org)s, %(words)s, null, %(delivery)s) as order_id",
        {"org": org_id, "words": Jsonb(order.document()), "delivery": delivery_id},
    )
    return UUID(str(rows[0].order_id))


def get(tx: Transaction, order_id: UUID) -> StoredOrder:
    """An order; raises `Gone` when there is none."""
    return _order(tx.one("find_email_order", f"order_id: there is no order {order_id}", order_id=order_id))


def listed(tx: Transaction, org_id: UUID, *, after: OrderPosition | None = None, limit: int) -> Sequence[StoredOrder]:
    """An org's orders after a position, the newest first."""
    created_at, order_id = after or (None, None)
    rows = tx.run("list_email_orders", org_id=org_id, created_at=created_at, order_id=order_id, limit=limit)
    return [_order(row) for row in rows]


def bind(tx: Transaction, order_id: UUID, sender: SenderIdentity) -> None:
    """Say by whom an order is about to leave."""
    tx.run(
        "bind_email_order",
        order_id=order_id,
        provider=sender.provider.value,
        from_address=sender.from_address,
        mailbox=sender.mailbox,
    )


def record_draft(tx: Transaction, order_id: UUID, draft: OrderDraft) -> None:
    """Keep the draft that an order's mail is sent from."""
    tx.run("record_email_draft", order_id=order_id, **draft._asdict())


def record_sent(tx: Transaction, order_id: UUID, *, provider_id: str, message_id: str | None) -> bool:
    """Write that an order's mail has left; false for one that has left already, which stays as it is."""
    return bool(tx.run("record_email_sent", order_id=order_id, provider_id=provider_id, message_id=message_id))


def cancel(tx: Transaction, order_id: UUID) -> None:
    """End an order that is not to be sent any more."""
    tx.run("cancel_email_order", order_id=order_id)


def _order(row: Row) -> StoredOrder:
    bound = None if row.provider is None else SenderIdentity(EmailProvider(row.provider), row.from_address, row.mailbox)
    return StoredOrder(
        row.order_id,
        row.org_id,
        row.words,
        row.reference,
        row.state,
        bound,
        None if row.draft_id is None else OrderDraft(row.draft_id, row.draft_message_id or ""),
        row.provider_id,
        row.message_id,
        row.error,
        row.created_at,
        row.ended_at,
    )
