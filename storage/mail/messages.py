"""Stored messages, their threads, and the account's correspondents."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from domain.mail.parsing.limits import LONGEST_ADDRESS, MOST_LABELS
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import Automation
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.payloads.mail_address import Address, address_key
from storage.postgres.database import Transaction
from storage.postgres.execution import Row
from storage.postgres.transaction import Asked, as_they_are, found

Direction = Literal["incoming", "outgoing"]

PAGE = 500
"""Messages that are read at once."""

_DOCUMENT = TypeAdapter(ParsedMessage)
_COLUMNS = {"subject", "text"}
"""Not in the document: subject and text have columns, and HTML is not stored, because its text is."""


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message: the mailbox's facts, the parsed content, and the signs of automation."""

    message_id: str
    thread_id: str
    direction: Direction
    received_at: datetime
    label_ids: frozenset[str]
    parsed: ParsedMessage
    automation: Automation | None = None


class WaitingMessage(NamedTuple):
    """A message that nobody has decided.

    `newly_asked` when only other models have tried, and no full sync has named today's.
    """

    message_id: str
    received_at: datetime
    newly_asked: bool


def upsert(tx: Transaction, account_id: UUID, message: Message) -> Asked[bool]:
    """Store a message with its thread and correspondents; true when it is new. Again, only its labels change.

    A transaction that stores several notes the correspondents of all first, and stores them in the order of their ids.
    """
    _note_correspondents(tx, account_id, message)
    content = message.parsed
    return tx.ask(
        "upsert_message",
        found(f"there is no account {account_id}", lambda row: bool(row.created)),
        account_id=account_id,
        message_id=message.message_id,
        thread_id=message.thread_id,
        direction=message.direction,
        received_at=message.received_at,
        size=content.size,
        labels=_kept_labels(message.label_ids),
        sender=None if content.from_ is None else content.from_.key[:LONGEST_ADDRESS],
        subject=content.subject,
        body=content.text,
        document=Jsonb(
            _DOCUMENT.dump_python(content, mode="json", exclude=_COLUMNS) | {"people": sorted(content.people)}
        ),
        rfc_message_id=content.message_id,
        defects=[str(defect) for defect in content.defects],
        **_automation_columns(message.automation),
    )


def get(tx: Transaction, account_id: UUID, message_id: str) -> Message:
    """One message by its Gmail id; raises `Gone` when it is not stored, or deleted."""
    return ask_for(tx, account_id, message_id).answer


def ask_for(tx: Transaction, account_id: UUID, message_id: str) -> Asked[Message]:
    """As `get`, whose answer is wanted later."""
    make = found(f"message {message_id} is not stored", message_of)
    return tx.ask("get_message", make, account_id=account_id, message_id=message_id)


def of_thread(tx: Transaction, account_id: UUID, thread_id: str, *, limit: int = 20) -> tuple[Message, ...]:
    """The latest messages of a thread, oldest first."""
    return ask_for_thread(tx, account_id, thread_id, limit=limit).answer


def ask_for_thread(tx: Transaction, account_id: UUID, thread_id: str, *, limit: int = 20) -> Asked[tuple[Message, ...]]:
    """As `of_thread`, whose answer is wanted later."""
    where = {"account_id": account_id, "thread_id": thread_id}
    return tx.ask("list_thread_messages", lambda rows: tuple(map(message_of, rows)), limit=limit, **where)


def unknown_of(tx: Transaction, account_id: UUID, message_ids: Sequence[str]) -> tuple[str, ...]:
    """Which of these were never stored, in the given order."""
    return tuple(row.id for row in tx.run("find_unknown_messages", account_id=account_id, ids=list(message_ids)))


def in_inbox(tx: Transaction, account_id: UUID, *, since: datetime) -> frozenset[str]:
    """The messages received since then that lie in the inbox, as far as is stored."""
    return frozenset(row.message_id for row in tx.run("find_inbox_messages", account_id=account_id, since=since))


def unclassified(
    tx: Transaction, account_id: UUID, *, since: datetime, asked: str, after: str = "", limit: int = PAGE
) -> tuple[WaitingMessage, ...]:
    """Inbox messages received since then that have no decision: a page of them, oldest first.

    The next page begins `after` the last message, and `since` that was received. `asked` names the models of today.

    Those that other models gave no answer about are among them (`domain.mail.triage.models_asked`).
    """
    rows = tx.run(
        "find_unclassified_messages", account_id=account_id, since=since, after=after, asked=asked, limit=limit
    )
    return tuple(WaitingMessage(*row) for row in rows)


def known_correspondents(
    tx: Transaction, account_id: UUID, addresses: Collection[str], *, before: datetime
) -> Asked[Mapping[str, bool]]:
    """Which of these addresses the account corresponded with before then; true for those it has written to."""

    def written_to(rows: Sequence[Row]) -> Mapping[str, bool]:
        return {row.address: row.written_to for row in rows}

    keys = sorted(set(map(address_key, addresses)))
    return tx.ask("find_correspondents", written_to, account_id=account_id, addresses=keys, before=before)


class LabelChange(NamedTuple):
    """The labels of a message before a change and after it."""

    before: frozenset[str]
    after: frozenset[str]


def change_labels(
    tx: Transaction, account_id: UUID, message_ids: Collection[str], *, add: Collection[str], remove: Collection[str]
) -> Asked[Mapping[str, LabelChange]]:
    """Add and remove labels as the mailbox did; what each stored message carried, and carries now."""
    changes = {"added": list(add), "removed": list(remove)}
    return tx.leave("change_message_labels", _label_changes, account_id=account_id, ids=sorted(message_ids), **changes)


def _label_changes(rows: Sequence[Row]) -> Mapping[str, LabelChange]:
    return {row.message_id: LabelChange(frozenset(row.before), frozenset(row.labels)) for row in rows}


def mark_deleted(tx: Transaction, account_id: UUID, message_ids: Collection[str]) -> frozenset[str]:
    """Messages that are gone for good; returns those that were here."""
    rows = tx.run("mark_messages_deleted", account_id=account_id, ids=sorted(message_ids))
    return frozenset(row.gmail_message_id for row in rows)


def _others(message: Message) -> tuple[Address, ...]:
    """Whom the account heard from, or wrote to."""
    content = message.parsed
    if message.direction == "incoming":
        return () if content.from_ is None else (content.from_,)
    return (*content.to, *content.cc, *content.bcc)


def _kept_labels(label_ids: Collection[str]) -> list[str]:
    """Of more labels than are kept, Gmail's own stay; a person's have ids that begin so."""
    ours_last = sorted(label_ids, key=lambda one: (one.startswith("Label_"), one))
    return sorted(ours_last[:MOST_LABELS])


def _automation_columns(automation: Automation | None) -> dict[str, Any]:
    if automation is None:
        return {"automation_kind": None, "automation_weight": None, "automation_evidence": None}
    return {
        "automation_kind": str(automation.kind),
        "automation_weight": str(automation.weight),
        "automation_evidence": list(automation.evidence),
    }


def message_of(row: Row) -> Message:
    """The message in a row that has the columns of `get_message.sql`."""
    automation = None
    if row.automation_kind is not None:
        kind, weight = AutomationKind(row.automation_kind), Weight(row.automation_weight)
        automation = Automation(kind, weight, tuple(row.automation_evidence))
    return Message(
        message_id=row.message_id,
        thread_id=row.thread_id,
        direction=row.direction,
        received_at=row.received_at,
        label_ids=frozenset(row.label_ids),
        parsed=_DOCUMENT.validate_python({**row.document, "subject": row.subject, "text": row.body}),
        automation=automation,
    )


def _note_correspondents(tx: Transaction, account_id: UUID, message: Message) -> None:
    """Note whom the account heard from, and wrote to, in a message."""
    met = [
        (address.key, message.received_at, message.direction == "outgoing")
        for address in _others(message)
        if 0 < len(address.key) <= LONGEST_ADDRESS
    ]
    columns = {name: [one[place] for one in met] for place, name in enumerate(("addresses", "times", "written"))}
    tx.leave("note_correspondents", as_they_are, account_id=account_id, **columns)
