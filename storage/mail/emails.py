"""The life of each thread that wants an answer; every move names the state it starts from."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from domain.mail.correspondence import SETTLED, EmailState
from domain.mail.mailbox import Draft
from domain.mail.thread_plan import DraftStanding, ThreadBefore
from domain.mail.triage.classification import Classification, Decision, DecisionSource
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, first_or_none

PAGE = 500
"""Records that are read at once."""


@dataclass(frozen=True, slots=True)
class Email:
    """One thread's record; the draft's fields are all there or all missing."""

    email_id: UUID
    account_id: UUID
    thread_id: str
    message_id: str
    state: EmailState
    state_changed_at: datetime
    classification: Classification | None
    decision_source: DecisionSource | None
    confidence: float | None
    needs_review: bool
    draft_token: str | None
    draft_id: str | None
    draft_message_id: str | None
    draft_fingerprint: str | None
    drafted_at: datetime | None
    draft_planned_at: datetime | None
    """Since when a draft may have been made that nobody has recorded yet."""
    draft_history_id: int | None
    """The mailbox's history id from before then."""
    rework_count: int
    sent_message_id: str | None
    sent_at: datetime | None
    by_hand_at: datetime | None
    """When its person or a service ordered the draft that it waits for, or has; None where a decision did."""
    by_service: bool
    """Whether a service ordered it, too, which no label withdraws."""

    @property
    def draft(self) -> "MadeDraft | None":
        """The draft that was made for it; a person may have edited, sent or deleted it since."""
        if self.draft_id is None or self.draft_message_id is None or self.draft_fingerprint is None:
            return None
        return MadeDraft(self.draft_id, self.draft_message_id, self.draft_fingerprint)

    @property
    def in_doubt(self) -> bool:
        """Whether a draft may lie in the mailbox that nobody recorded: its token was stored, and no draft with it."""
        return self.draft_token is not None and self.draft_id is None and self.state is not EmailState.SENT

    @property
    def has_late_draft(self) -> bool:
        """Whether the record was settled before its draft was made, and nobody has taken the draft back yet."""
        return self.state in SETTLED and self.drafted_at is not None and self.drafted_at > self.state_changed_at

    @property
    def before(self) -> ThreadBefore:
        """What a plan is made from; nobody has read the draft yet, and a sent one is no draft any more."""
        may_be_there = self.draft is not None and self.state is not EmailState.SENT
        return ThreadBefore(
            self.state,
            DraftStanding.UNREAD if may_be_there else DraftStanding.NONE,
            by_hand=self.state is EmailState.PENDING and self.by_hand_at is not None,
        )


@dataclass(frozen=True, slots=True)
class MadeDraft:
    """A draft as Gmail made it; the fingerprint is that of the text we wrote."""

    draft_id: str
    message_id: str
    fingerprint: str


def open_email(  # noqa: PLR0913 - a record's columns, and the condition under which it is opened
    tx: Transaction,
    account_id: UUID,
    *,
    thread_id: str,
    message_id: str,
    decision: Decision | None = None,
    state: EmailState = EmailState.PENDING,
    in_inbox: bool = False,
) -> bool:
    """Begin a stored thread's record, pending or skipped; false when it has one, which is left alone.

    With `in_inbox` it is also false when the message has left the inbox.
    """
    rows = tx.run(
        "open_email",
        account_id=account_id,
        thread_id=thread_id,
        message_id=message_id,
        state=str(state),
        in_inbox=in_inbox,
        **_decision_columns(decision),
    )
    return bool(rows[0].created)


def thread_of(tx: Transaction, account_id: UUID, email_id: UUID) -> str | None:
    """The thread of a record, by the record's id; None when the account has no such record."""
    rows = tx.run("find_thread_of_email", account_id=account_id, email_id=email_id)
    return str(rows[0].thread_id) if rows else None


def get(tx: Transaction, account_id: UUID, thread_id: str) -> Email | None:
    """A thread's record, if it has one."""
    return ask_for(tx, account_id, thread_id).answer


def ask_for(tx: Transaction, account_id: UUID, thread_id: str) -> Asked[Email | None]:
    """As `get`, whose answer is wanted later."""
    make = first_or_none(lambda row: _email(row._asdict()))
    return tx.ask("get_email", make, account_id=account_id, thread_id=thread_id)


def with_inbox(tx: Transaction, account_id: UUID, *, thread_id: str, message_id: str) -> tuple[Email | None, bool]:
    """A thread's record, and whether this message of it is in the inbox."""
    row = tx.run("get_email_and_place", account_id=account_id, thread_id=thread_id, message_id=message_id)[0]._asdict()
    in_inbox = bool(row.pop("in_inbox"))
    return (None if row["email_id"] is None else _email(row)), in_inbox


def by_draft_message(tx: Transaction, account_id: UUID, message_id: str) -> Email | None:
    """The record whose draft consists of this message now."""
    rows = tx.run("find_email_by_draft_message", account_id=account_id, message_id=message_id)
    return _email(rows[0]._asdict()) if rows else None


class OpenRecord(NamedTuple):
    """A thread with a draft of ours that its person has not sent, or that waits for one, and since when.

    `by_hand` says that its person or a service ordered the draft.
    """

    thread_id: str
    message_id: str
    state: EmailState
    since: datetime
    by_hand: bool


def open_records(
    tx: Transaction, account_id: UUID, *, since: datetime, after: OpenRecord | None = None, limit: int = PAGE
) -> tuple[OpenRecord, ...]:
    """The records since then of which something is still expected: a page of them, the next one `after` a record.

    Those that wait for a draft are among them while their message lies in the inbox; those that wait for one by hand,
    while it is not thrown away.
    """
    place = {"after_state": "", "after_time": since, "after_thread": ""}
    if after is not None:
        place = {"after_state": str(after.state), "after_time": after.since, "after_thread": after.thread_id}
    rows = tx.run("find_open_records", account_id=account_id, since=since, limit=limit, **place)
    return tuple(OpenRecord(**(row._asdict() | {"state": EmailState(row.state)})) for row in rows)


def order_by_hand(tx: Transaction, account_id: UUID, thread_id: str, *, at: datetime, by_service: bool = False) -> bool:
    """Record when a label or a service ordered the draft that a thread waits for; false when it waits for none."""
    values = {"at": at, "by_service": by_service}
    return bool(tx.run("order_by_hand", account_id=account_id, thread_id=thread_id, **values))


class EndedThreadWait(NamedTuple):
    """A thread that waits for no draft any more; `in_doubt` says that one may have been made for it all the same."""

    thread_id: str
    message_id: str
    in_doubt: bool


def ordering_messages(tx: Transaction, account_id: UUID, label_ids: Collection[str]) -> tuple[str, ...]:
    """The messages that carry a label of these, by the store, in threads that wait for a draft ordered by a label."""
    rows = tx.run("find_ordering_messages", account_id=account_id, labels=sorted(label_ids))
    return tuple(row.message_id for row in rows)


def withdraw_orders(
    tx: Transaction, account_id: UUID, message_ids: Collection[str], label_ids: Collection[str]
) -> tuple[EndedThreadWait, ...]:
    """A label that orders a draft was taken off these messages: a thread without one waits for no draft any more.

    Unless a service ordered it, too.
    """
    if not message_ids:
        return ()
    rows = tx.run("withdraw_orders", account_id=account_id, messages=sorted(message_ids), labels=sorted(label_ids))
    return tuple(EndedThreadWait(*row) for row in rows)


def end_orders_by_hand(tx: Transaction, account_id: UUID) -> int:
    """End the wait for drafts that labels or services ordered in a mailbox that is taken away; returns how many."""
    return len(tx.run("end_orders_by_hand", account_id=account_id))


def update_decision(tx: Transaction, account_id: UUID, *, thread_id: str, message_id: str, decision: Decision) -> bool:
    """Put a newer message's decision on a record that is still pending."""
    columns = _decision_columns(decision)
    return bool(
        tx.run("update_email_decision", account_id=account_id, thread_id=thread_id, message_id=message_id, **columns)
    )


def move(
    tx: Transaction,
    account_id: UUID,
    thread_id: str,
    *,
    expected: EmailState,
    to: EmailState,
    newest: str | None = None,
) -> bool:
    """Move a record; false when it is in another state. Drafting, sending and reopening have functions of their own.

    With `newest` it is also false when the thread's newest message has another id.
    """
    states = {"from": str(expected), "to": str(to), "newest": newest}
    return bool(tx.run("move_email", account_id=account_id, thread_id=thread_id, **states))


def reopen(tx: Transaction, account_id: UUID, thread_id: str, *, expected: EmailState, message_id: str) -> bool:
    """Reopen a finished record without draft or reworks. Discard a draft that is still in the mailbox first.

    The token of a draft in doubt stays: whoever drafts next looks for that draft first. An order by hand is of the life
    before, and is forgotten.
    """
    values = {"from": str(expected), "message_id": message_id}
    return bool(tx.run("reopen_email", account_id=account_id, thread_id=thread_id, **values))


def plan_draft(
    tx: Transaction, account_id: UUID, thread_id: str, *, token: str, newest: str, since: int | None
) -> str | None:
    """Store the token before a draft is made; returns the token to use, which is the first that was stored.

    `since` is a history id from before the draft, kept with the token. None when the record is not pending, or the
    thread's newest message has another id than `newest`.
    """
    values = {"token": token, "newest": newest, "history_id": since}
    rows = tx.run("plan_draft", account_id=account_id, thread_id=thread_id, **values)
    return rows[0].draft_token if rows else None


def plan_rework(tx: Transaction, account_id: UUID, thread_id: str, *, draft: Draft, token: str) -> bool:
    """Move the record to `rework_requested`, with the token of the draft that is to replace this one.

    The draft's message is stored as it was read. False when the record has moved, or names another draft.
    """
    values = {"draft_id": draft.draft_id, "draft_message_id": draft.message_id, "token": token}
    return bool(tx.run("plan_rework", account_id=account_id, thread_id=thread_id, **values))


def record_draft(
    tx: Transaction, account_id: UUID, thread_id: str, *, expected: EmailState, draft: MadeDraft
) -> int | None:
    """The draft was made: the record is drafted. Returns the reworks so far, or None when it was in another state."""
    values = {"draft_id": draft.draft_id, "draft_message_id": draft.message_id, "fingerprint": draft.fingerprint}
    rows = tx.run("record_draft", account_id=account_id, thread_id=thread_id, **values, **{"from": str(expected)})
    return int(rows[0].rework_count) if rows else None


def record_late_draft(tx: Transaction, account_id: UUID, thread_id: str, *, draft: MadeDraft) -> bool:
    """The draft was made after the record had been settled, which it stays; the draft is to be taken back."""
    values = {"draft_id": draft.draft_id, "draft_message_id": draft.message_id, "fingerprint": draft.fingerprint}
    return bool(tx.run("record_late_draft", account_id=account_id, thread_id=thread_id, **values))


def replace_draft_message(tx: Transaction, account_id: UUID, *, draft_id: str, message_id: str) -> bool:
    """A person edited the draft, which gave it another message; the fingerprint stays that of our text.

    A draft that is being reworked keeps the message that was read: by it the job sees that the draft was edited since.
    """
    values = {"draft_id": draft_id, "draft_message_id": message_id}
    return bool(tx.run("replace_draft_message", account_id=account_id, **values))


def forget_draft(tx: Transaction, account_id: UUID, thread_id: str) -> bool:
    """The draft of a finished record is gone from the mailbox, or was never made."""
    return bool(tx.run("forget_draft", account_id=account_id, thread_id=thread_id))


def record_sent(
    tx: Transaction, account_id: UUID, thread_id: str, *, expected: EmailState, message_id: str, at: datetime
) -> bool:
    """The person sent the draft as this message; false when the record was in another state."""
    values = {"from": str(expected), "sent_message_id": message_id, "sent_at": at}
    return bool(tx.run("record_sent", account_id=account_id, thread_id=thread_id, **values))


def known_draft_tokens(tx: Transaction, account_id: UUID, tokens: frozenset[str]) -> Asked[dict[str, str]]:
    """Which of these tokens drafts of this account were made with, and in which threads: our own mail coming back."""

    def threads(rows: Sequence[Row]) -> dict[str, str]:
        return {row.token: row.thread_id for row in rows}

    return tx.ask("find_draft_tokens", threads, account_id=account_id, tokens=sorted(tokens))


def _decision_columns(decision: Decision | None) -> dict[str, object]:
    if decision is None:
        return {"classification": None, "source": None, "confidence": None, "needs_review": False}
    return {
        "classification": str(decision.classification),
        "source": str(decision.source),
        "confidence": decision.confidence,
        "needs_review": decision.needs_review,
    }


def _email(columns: Mapping[str, Any]) -> Email:
    classification, source = columns["classification"], columns["decision_source"]
    words = {
        "state": EmailState(columns["state"]),
        "classification": None if classification is None else Classification(classification),
        "decision_source": None if source is None else DecisionSource(source),
    }
    since = columns["draft_history_id"]
    return Email(**{**columns, **words, "draft_history_id": None if since is None else int(since)})
