"""The Discord channel in which an org's people are asked."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from domain.approvals.approvers import check_snowflake
from domain.jobs.failures import Conflict, Gone
from domain.jobs.job import Origin
from storage.operators import operator_actions
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class ApprovalChannel:
    """Where an org is asked, and since when."""

    org_id: UUID
    channel_id: str
    set_at: datetime


def find(tx: Transaction, org_id: UUID) -> str | None:
    """The channel's id; None when the org is not asked on Discord."""
    channel = read(tx, org_id)
    return channel.channel_id if channel else None


def read(tx: Transaction, org_id: UUID) -> ApprovalChannel | None:
    """Where the org is asked, and since when; None when it is not asked on Discord."""
    rows = tx.run("find_approval_channel", org_id=org_id)
    return ApprovalChannel(**rows[0]._asdict()) if rows else None


def is_anothers(tx: Transaction, org_id: UUID, channel_id: str) -> bool:
    """Whether another org is asked in that channel; then nothing of this org may be written or looked for there."""
    rows = tx.raw(
        "select postroom.is_channel_of_another(%(org)s, %(channel)s) as it_is", {"org": org_id, "channel": channel_id}
    )
    return bool(rows[0].it_is)


def choose(tx: Transaction, org_id: UUID, channel_id: str, *, by: Origin) -> ApprovalChannel:
    """Ask the org in this channel from now on; raises `Invalid` for a bad id, `Conflict` for another org's channel."""
    rows = tx.run("set_approval_channel", org_id=org_id, channel_id=check_snowflake("channel", channel_id))
    if not rows:
        raise Conflict(f"channel: {channel_id} is where another org is asked, whose mail would be shown to both")
    operator_actions.record(tx, "approval.channel_set", {"channel_id": channel_id}, by=by, org_id=org_id)
    return ApprovalChannel(**rows[0]._asdict())


def remove(tx: Transaction, org_id: UUID, *, by: Origin) -> ApprovalChannel:
    """Stop asking the org on Discord; raises `Gone` when it has no channel."""
    rows = tx.run("remove_approval_channel", org_id=org_id)
    if not rows:
        raise Gone("the org has no channel for approvals")
    operator_actions.record(tx, "approval.channel_removed", {}, by=by, org_id=org_id)
    return ApprovalChannel(**rows[0]._asdict())
