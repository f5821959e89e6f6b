"""How far each mail that leaves has got; each step is written before or together with what it leads to."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from domain.mail.mailbox import Draft
from storage.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class MailRecord:
    """The mail of one action; what has not happened yet is None."""

    action_id: UUID
    token: str
    message_type: str
    automatic: bool
    history_id: int
    """Where the mailbox's history stood before the draft was made."""
    draft: Draft | None = None
    send_began_at: datetime | None = None
    sent_message_id: str | None = None
    sent_thread_id: str | None = None
    sent_at: datetime | None = None
    rfc_message_id: str | None = None
    """The Message-ID that Gmail gave it."""


def get(tx: Transaction, account_id: UUID, action_id: UUID) -> MailRecord | None:
    """The mail of an action, if it has begun."""
    rows = tx.run("get_outgoing_mail", account_id=account_id, action_id=action_id)
    if not rows:
        return None
    row = rows[0]._asdict()
    draft = Draft(row.pop("draft_id"), row.pop("draft_message_id"), row.pop("draft_thread_id"))
    return MailRecord(history_id=int(row.pop("history_id")), draft=draft if draft.draft_id else None, **row)


def plan(tx: Transaction, account_id: UUID, planned: MailRecord) -> str:
    """Store the token before the draft is made; returns the token to use, which is the first that was stored."""
    row = tx.one(
        "plan_outgoing_mail",
        _missing(planned.action_id),
        account_id=account_id,
        action_id=planned.action_id,
        token=planned.token,
        message_type=planned.message_type,
        automatic=planned.automatic,
        history_id=planned.history_id,
    )
    return str(row.token)


def record_draft(tx: Transaction, account_id: UUID, action_id: UUID, draft: Draft) -> None:
    """The draft was made, and is about to be sent."""
    ids = {"draft_id": draft.draft_id, "draft_message_id": draft.message_id, "draft_thread_id": draft.thread_id}
    tx.one("record_outgoing_draft", _missing(action_id), account_id=account_id, action_id=action_id, **ids)


def record_sent(tx: Transaction, account_id: UUID, action_id: UUID, *, message_id: str, thread_id: str) -> None:
    """The mail has left as this message."""
    ids = {"sent_message_id": message_id, "sent_thread_id": thread_id}
    tx.one("record_outgoing_sent", _missing(action_id), account_id=account_id, action_id=action_id, **ids)


def record_message_id(tx: Transaction, account_id: UUID, action_id: UUID, rfc_message_id: str) -> None:
    """The Message-ID that Gmail gave the mail, which was read back."""
    given = {"rfc_message_id": rfc_message_id[:2000]}
    tx.one("record_outgoing_message_id", _missing(action_id), account_id=account_id, action_id=action_id, **given)


def reserve_answers(
    tx: Transaction, account_id: UUID, action_id: UUID, addresses: Collection[str], *, every: timedelta
) -> frozenset[str]:
    """Set automatic answers to these addresses aside; returns those that got one lately, by another action.

    When there are any, the caller rolls back, so that nothing is set aside.
    """
    wanted = frozenset(addresses)
    rows = tx.run(
        "reserve_automatic_answers",
        account_id=account_id,
        action_id=action_id,
        addresses=sorted(wanted),
        every=every,
    )
    return wanted - {row.address for row in rows}


def pause_sending(tx: Transaction, account_id: UUID, until: datetime) -> None:
    """The provider lets the account send nothing until then."""
    tx.run("pause_sending", account_id=account_id, until=until)


def paused_until(tx: Transaction, account_id: UUID) -> datetime | None:
    """Until when the account may send nothing; None when it may."""
    rows = tx.run("read_sending_pause", account_id=account_id)
    return rows[0].until if rows else None


def _missing(action_id: UUID) -> str:
    return f"action {action_id} has no outgoing mail"


def tokens_among(tx: Transaction, account_id: UUID, tokens: Collection[str]) -> frozenset[str]:
    """Which of these tokens belong to mails of actions."""
    rows = tx.run("find_outgoing_tokens", account_id=account_id, tokens=list(tokens))
    return frozenset(row.token for row in rows)
