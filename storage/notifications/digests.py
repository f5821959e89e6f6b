"""Digests: an item opens one or joins the open one, and one transaction closes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from domain.notifications.channels import Channel
from domain.notifications.template import Said
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Joined:
    """The digest that an item is in."""

    digest_id: UUID
    is_new: bool
    closes_at: datetime


@dataclass(frozen=True, slots=True)
class Digest:
    """What is known of a digest; its words are those of its items."""

    digest_id: UUID
    org_id: UUID
    user_id: UUID
    category: str
    channel: Channel
    closed_at: datetime | None


class Overdue(NamedTuple):
    """An open digest that should have been closed, and whose."""

    digest_id: UUID
    org_id: UUID


def join(
    tx: Transaction, notification: tuple[UUID, UUID, UUID], channel: Channel, category: str, closes_at: datetime
) -> Joined:
    """Put a notification, named by org, person and id, into the person's open digest of a channel and category.

    The digest's row is locked until the end of the transaction: who closes it waits, and takes the item along.
    """
    org_id, user_id, notification_id = notification
    (row,) = tx.run(
        "open_digest", org_id=org_id, user_id=user_id, channel=channel.value, category=category, closes_at=closes_at
    )
    tx.run("add_digest_item", org_id=org_id, digest_id=row.digest_id, notification_id=notification_id)
    return Joined(row.digest_id, row.is_new, row.closes_at)


def close(tx: Transaction, org_id: UUID, digest_id: UUID) -> Sequence[UUID] | None:
    """Close a digest and return its items, the oldest first; None when somebody has closed it, or it is gone."""
    # Two statements: the second sees the items of those for whom the first has waited.
    if not tx.run("hold_open_digest", org_id=org_id, digest_id=digest_id):
        return None
    return [row.notification_id for row in tx.run("close_digest", org_id=org_id, digest_id=digest_id)]


def find(tx: Transaction, org_id: UUID, digest_id: UUID) -> Digest | None:
    """A digest; None when its person was removed."""
    rows = tx.run("find_digest", org_id=org_id, digest_id=digest_id)
    return Digest(**(rows[0]._asdict() | {"channel": Channel(rows[0].channel)})) if rows else None


def suppress_items(tx: Transaction, digest: Digest, reason: str) -> None:
    """Write down why the items of a digest are not sent."""
    tx.run(
        "suppress_digest_items",
        org_id=digest.org_id,
        digest_id=digest.digest_id,
        channel=digest.channel.value,
        reason=reason,
    )


def items(tx: Transaction, org_id: UUID, digest_id: UUID, *, limit: int) -> tuple[Sequence[Said], int]:
    """What the first items of a digest say, and how many there are."""
    rows = tx.run("list_digest_items", org_id=org_id, digest_id=digest_id, limit=limit)
    return [Said.model_validate(row.said) for row in rows if row.said], rows[0].total if rows else 0


def overdue(tx: Transaction, *, limit: int) -> Sequence[Overdue]:
    """Open digests of all orgs that should have been closed, the longest overdue first."""
    return [Overdue(row.digest_id, row.org_id) for row in tx.run("list_overdue_digests", limit=limit)]
