"""By whom an org's text messages and pushes leave, and by which channels the org can send at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.notifications.channels import Channel
from storage.orgs.secrets import org_credentials
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

PROVIDERS: Mapping[Channel, str] = {Channel.SMS: "twilio", Channel.PUSH: "fcm"}


@dataclass(frozen=True, slots=True)
class ChannelSender:
    """The sender of a channel."""

    org_id: UUID
    channel: Channel
    provider: str
    from_name: str
    """The number that text messages come from, or the project whose app gets the pushes."""
    secret: str
    """The name of the org's secret that holds the credentials."""
    set_at: datetime
    """Tells its credentials from earlier and later ones (`storage.orgs.secrets.org_credentials`)."""
    set_by: str


def sendable(tx: Transaction, org_id: UUID) -> frozenset[Channel]:
    """The channels with an address by which the org can send."""
    return frozenset(Channel(row.channel) for row in tx.run("list_sendable_channels", org_id=org_id))


def find(tx: Transaction, org_id: UUID, channel: Channel) -> ChannelSender | None:
    """The org's sender of a channel; None where it has none."""
    return tx.first("find_channel_sender", _sender, org_id=org_id, channel=channel.value)


def listed(tx: Transaction, org_id: UUID) -> Sequence[ChannelSender]:
    """The org's senders."""
    return [_sender(row) for row in tx.run("list_channel_senders", org_id=org_id)]


def choose(tx: Transaction, org_id: UUID, channel: Channel, *, from_name: str, secret: str, by: str) -> ChannelSender:
    """Let the org send by the channel so from now on, and messages go on that waited for credentials."""
    provider = PROVIDERS[channel]
    set_at = org_credentials.replace(tx, org_id, provider)
    rows = tx.run(
        "set_channel_sender",
        org_id=org_id,
        channel=channel.value,
        provider=provider,
        from_name=from_name,
        secret=secret,
        set_at=set_at,
        set_by=by,
    )
    return _sender(rows[0])


def remove(tx: Transaction, org_id: UUID, channel: Channel) -> ChannelSender:
    """Send by the channel no more; raises `Gone` when the org has no sender there."""
    missing = f"the org has no sender for {channel.value}"
    return _sender(tx.one("remove_channel_sender", missing, org_id=org_id, channel=channel.value))


def _sender(row: Row) -> ChannelSender:
    return ChannelSender(**(row._asdict() | {"channel": Channel(row.channel)}))
