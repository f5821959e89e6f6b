"""What waits for a person: asked about, reminded of, expired; and the channel in which an org is asked."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from domain.approvals.decision import REMIND_AFTER_SHARE
from domain.jobs.failures import Conflict
from domain.orgs.access.users import check_snowflake
from domain.payloads.approvals import NotifyPayload, ShowOutcomePayload
from storage.approvals.subjects import ApprovalSubject
from storage.mail.actions.actions import Enqueue
from storage.postgres.database import Transaction


class WaitingAction(NamedTuple):
    """An action, and where it belongs."""

    action_id: UUID
    org_id: UUID
    account_id: UUID


@dataclass(frozen=True, slots=True)
class QuestionNotice:
    """A message that asked: number 0 the first, 1 the reminder."""

    number: int
    channel_id: str
    message_id: str


def request(
    tx: Transaction, account_id: UUID, action_ids: Sequence[UUID], enqueue: Enqueue, *, lasts: timedelta
) -> tuple[UUID, ...]:
    """Have people asked about actions that wait: each gets an end and a job that asks. Returns those that wait."""
    waiting = tuple(row.id for row in tx.run("date_approvals", action_ids=list(action_ids), lasts=lasts))
    if waiting:
        enqueue(tx, *(NotifyPayload(account_id=account_id, approval_id=one) for one in waiting))
    return waiting


def asking(approval_id: UUID, asked_at: datetime, ends_at: datetime) -> tuple[tuple[NotifyPayload, datetime], ...]:
    """The jobs that ask about a node's wait, and when: at once, and a reminder, which asks only if it still waits."""
    remind_at = asked_at + (ends_at - asked_at) * REMIND_AFTER_SHARE
    return (
        (NotifyPayload(approval_id=approval_id), asked_at),
        (NotifyPayload(approval_id=approval_id, reminder=True), remind_at),
    )


def overdue(tx: Transaction, *, besides: Collection[UUID] = (), limit: int) -> tuple[WaitingAction, ...]:
    """Actions to end or to remind of, at most so many, but for those of some orgs; as the ledger role only."""
    rows = tx.run("list_overdue_approvals", besides=list(besides), limit=limit, share=REMIND_AFTER_SHARE)
    return tuple(WaitingAction(*row) for row in rows)


def expire(tx: Transaction, due: Sequence[WaitingAction]) -> tuple[WaitingAction, ...]:
    """End those of these actions whose time is over; of all orgs, as the ledger role only."""
    return tuple(WaitingAction(*row) for row in tx.run("expire_approvals", action_ids=[one.action_id for one in due]))


def supersede(tx: Transaction, account_id: UUID, message_id: str, enqueue: Enqueue) -> tuple[UUID, ...]:
    """Cancel what earlier decisions about a message still ask a person; each question shows so. Returns the actions."""
    ended = [WaitingAction(*row) for row in tx.run("supersede_approvals", account_id=account_id, message_id=message_id)]
    if ended:
        enqueue(tx, *(ShowOutcomePayload(account_id=account_id, approval_id=one.action_id) for one in ended))
    return tuple(one.action_id for one in ended)


def mark_reminders(tx: Transaction, due: Sequence[WaitingAction]) -> tuple[WaitingAction, ...]:
    """Note of those that still wait that a person is reminded, and return them; for the ledger role, as `expire`."""
    return tuple(WaitingAction(*row) for row in tx.run("mark_reminders", action_ids=[one.action_id for one in due]))


def record_notice(tx: Transaction, subject: ApprovalSubject, notice: QuestionNotice) -> None:
    """Keep which message asked about the subject."""
    tx.run(
        "record_notice",
        approval_id=subject.approval_id,
        number=notice.number,
        org_id=subject.org_id,
        account_id=subject.account_id,
        run_id=subject.run_id,
        channel_id=notice.channel_id,
        message_id=notice.message_id,
    )


def notices(tx: Transaction, approval_id: UUID) -> tuple[QuestionNotice, ...]:
    """The messages that asked."""
    return tuple(QuestionNotice(*row) for row in tx.run("list_notices", approval_id=approval_id))


def hurry(tx: Transaction) -> None:
    """Let no statement of `tx` take more than a second: Discord waits three for the whole answer."""
    tx.raw("set local statement_timeout = '1s'")


@dataclass(frozen=True, slots=True)
class OrgChannel:
    """Where an org is asked, and since when."""

    org_id: UUID
    channel_id: str
    set_at: datetime


def channel_of(tx: Transaction, org_id: UUID) -> str | None:
    """The channel's id; None when the org is not asked on Discord."""
    channel = read_channel(tx, org_id)
    return channel.channel_id if channel else None


def read_channel(tx: Transaction, org_id: UUID) -> OrgChannel | None:
    """Where the org is asked, and since when; None when it is not asked on Discord."""
    rows = tx.run("find_approval_channel", org_id=org_id)
    return OrgChannel(**rows[0]._asdict()) if rows else None


def is_anothers_channel(tx: Transaction, org_id: UUID, channel_id: str) -> bool:
    """Whether another org is asked in that channel; then nothing of this org may be written or looked for there."""
    rows = tx.raw(
        "select postroom.is_channel_of_another(%(org)s, %(channel)s) as it_is", {"org": org_id, "channel": channel_id}
    )
    return bool(rows[0].it_is)


def choose_channel(tx: Transaction, org_id: UUID, channel_id: str) -> OrgChannel:
    """Ask the org in this channel from now on; raises `Invalid` for a bad id, `Conflict` for another org's channel."""
    rows = tx.run("set_approval_channel", org_id=org_id, channel_id=check_snowflake("channel", channel_id))
    if not rows:
        raise Conflict(f"channel: {channel_id} is where another org is asked, whose mail would be shown to both")
    return OrgChannel(**rows[0]._asdict())


def remove_channel(tx: Transaction, org_id: UUID) -> OrgChannel:
    """Stop asking the org on Discord; raises `Gone` when it has no channel."""
    return OrgChannel(
        **tx.one("remove_approval_channel", "the org has no channel for approvals", org_id=org_id)._asdict()
    )
