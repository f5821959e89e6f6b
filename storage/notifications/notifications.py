"""Notifications: asking for one, what was planned, and where each delivery stands."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID, uuid5

from psycopg.types.json import Jsonb

from domain.jobs.job import JsonObject, Origin
from domain.notifications.channels import Channel, category_of
from domain.notifications.delivery import DeliveryState, states_before
from domain.notifications.plan import NotificationFacts
from domain.notifications.template import Said
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.retention import Retention

SYSTEM = Origin()

KEEP_FOR = timedelta(days=90)
"""How long notifications are kept, with deliveries and inbox: a quarter of a year is what people look back on."""

RETENTION = Retention("notifications", "asked_at", KEEP_FOR, batch=500, by_org=True)
RETENTION_OF_DIGESTS = Retention("digests", "closed_at", KEEP_FOR, batch=500, by_org=True)


@dataclass(frozen=True, slots=True)
class NotificationRequest:
    """What somebody is told. The same one within seven days is one notification."""

    recipient_id: UUID
    template: str
    data: JsonObject = field(default_factory=dict)
    bucket: str = ""
    """Tells apart what is said twice on purpose, such as the day or the number of a reminder."""
    channels: tuple[Channel, ...] | None = None
    """None: all that the template has words for."""
    contact_id: UUID | None = None
    """To this address alone, though it is not verified: its code."""
    due_at: datetime | None = None
    """The time for which it is meant; None: now."""


class Notified(NamedTuple):
    """What became of a request."""

    notification_id: UUID | None
    created: bool
    """False where the same was asked for before."""
    refusal: str | None
    """Why there is none; the audit log says so, too."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What was asked for."""

    notification_id: UUID
    org_id: UUID
    user_id: UUID
    template: str
    version: int | None
    data: JsonObject
    bucket: str
    channels: tuple[Channel, ...] | None
    contact_id: UUID | None
    due_at: datetime | None
    asked_at: datetime
    planned_at: datetime | None


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a notification or a digest on a channel."""

    delivery_id: UUID
    org_id: UUID
    user_id: UUID
    notification_id: UUID | None
    digest_id: UUID | None
    channel: Channel
    contact_id: UUID | None
    state: DeliveryState
    reason: str | None
    provider_id: str | None
    due_at: datetime | None
    created_at: datetime
    changed_at: datetime

    @property
    def may_be_sent(self) -> bool:
        """Whether a job of it has something to do: a failure of which no provider has told ends with a replay."""
        failed_here = self.state is DeliveryState.FAILED and self.provider_id is None
        return failed_here or self.state in {DeliveryState.QUEUED, DeliveryState.UNKNOWN}


def notify(tx: Transaction, org_id: UUID, request: NotificationRequest, *, by: Origin = SYSTEM) -> Notified:
    """Ask for a notification in the caller's transaction, whose other writes go on whatever becomes of it.

    The job that delivers it begins after the commit. A handler asks in its job's name.
    """
    rows = tx.run(
        "notify",
        org_id=org_id,
        recipient_id=request.recipient_id,
        template=request.template,
        data=Jsonb(request.data),
        bucket=request.bucket,
        channels=None if request.channels is None else [one.value for one in request.channels],
        contact_id=request.contact_id,
        due_at=request.due_at,
        actor_type=by.actor_type.value,
        actor_id=by.actor_id,
        request_id=by.request_id,
        correlation_id=by.correlation_id,
    )
    return Notified(*rows[0])


def notify_people(  # noqa: PLR0913 - a request, and whose
    tx: Transaction, org_id: UUID, people: Iterable[UUID], template: str, data: JsonObject, *, bucket: str, by: Origin
) -> None:
    """Ask for the same notification to several people of an org."""
    # In one order: of two transactions that ask the same at one time, the second waits for the first.
    for recipient_id in sorted(set(people)):
        notify(tx, org_id, NotificationRequest(recipient_id, template, data, bucket), by=by)


def find(tx: Transaction, org_id: UUID, notification_id: UUID) -> Notification | None:
    """A notification of the org's; None when there is none, as when its person was removed."""
    return tx.first("find_notification", _notification, org_id=org_id, notification_id=notification_id)


def mark_planned(tx: Transaction, notification_id: UUID, version: int) -> bool:
    """Write down by which version it is said; false when it was planned before."""
    return bool(tx.run("mark_planned", notification_id=notification_id, version=version))


def delivery_id_of(source_id: UUID, channel: Channel, contact_id: UUID | None) -> UUID:
    """The id of the delivery of a notification or a digest to an address: there is one."""
    return uuid5(source_id, f"{channel.value}:{contact_id or ''}")


def add_delivery(  # noqa: PLR0913 - the columns of a row
    tx: Transaction,
    notification: tuple[UUID, UUID],
    source_id: UUID,
    channel: Channel,
    contact_id: UUID | None,
    state: DeliveryState,
    *,
    reason: str | None = None,
    said: Said | None = None,
    due_at: datetime | None = None,
    is_digest: bool = False,
) -> UUID:
    """Write down what becomes of a notification, or a digest, on a channel; `notification` names org and person."""
    delivery_id = delivery_id_of(source_id, channel, contact_id)
    tx.run(
        "add_delivery",
        delivery_id=delivery_id,
        org_id=notification[0],
        user_id=notification[1],
        notification_id=None if is_digest else source_id,
        digest_id=source_id if is_digest else None,
        channel=channel.value,
        contact_id=contact_id,
        state=state.value,
        reason=reason,
        said=None if said is None else Jsonb(said.model_dump(mode="json")),
        due_at=due_at,
    )
    return delivery_id


def delivery(tx: Transaction, delivery_id: UUID) -> Delivery | None:
    """A delivery of the transaction's org, and for the ledger role of whichever."""
    return tx.first("find_delivery", _delivery, delivery_id=delivery_id)


def kept_message(tx: Transaction, delivery: Delivery) -> tuple[NotificationFacts, Said] | None:
    """What a delivery says, and what a plan needs to know of it; None where a provider has taken it."""
    rows = tx.run("find_said", org_id=delivery.org_id, delivery_id=delivery.delivery_id)
    if not rows:
        return None
    said, channels = Said.model_validate(rows[0].said), (delivery.channel,)
    message = NotificationFacts(
        category=category_of(said.category),
        channels=channels,
        said_by=frozenset(channels),
        unsayable=frozenset(),
        asked_at=rows[0].asked_at,
        max_age=said.max_age,
        digest_every=timedelta(0),
        due_at=rows[0].due_at,
    )
    return message, said


def deliveries(tx: Transaction, org_id: UUID, notification_id: UUID) -> Sequence[Delivery]:
    """What became of a notification on each channel."""
    rows = tx.run("list_deliveries", org_id=org_id, notification_id=notification_id)
    return [_delivery(row) for row in rows]


def advance(
    tx: Transaction,
    delivery_id: UUID,
    state: DeliveryState,
    *,
    reason: str | None = None,
    provider_id: str | None = None,
) -> bool:
    """Write down where a delivery stands, unless it is further already; the provider's id is kept in any case."""
    rows = tx.run(
        "advance_delivery",
        delivery_id=delivery_id,
        state=state.value,
        before=[one.value for one in states_before(state)],
        reason=reason,
        provider_id=provider_id,
    )
    return bool(rows) and bool(rows[0].is_news)


def reopen(tx: Transaction, delivery_id: UUID) -> None:
    """Let a message that failed, and that no provider has taken, be sent again."""
    tx.run("reopen_delivery", delivery_id=delivery_id)


def known_provider_ids(tx: Transaction, org_id: UUID, provider_ids: Sequence[str]) -> frozenset[str]:
    """Which of these ids are deliveries' of the org."""
    rows = tx.run("list_known_provider_ids", org_id=org_id, provider_ids=list(provider_ids))
    return frozenset(row.provider_id for row in rows)


def _notification(row: Row) -> Notification:
    channels = None if row.channels is None else tuple(Channel(one) for one in row.channels)
    return Notification(**(row._asdict() | {"channels": channels}))


def _delivery(row: Row) -> Delivery:
    return Delivery(**(row._asdict() | {"channel": Channel(row.channel), "state": DeliveryState(row.state)}))
