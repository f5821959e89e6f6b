"""Stores a fetched message with its direction and the signs of automation."""

import re
from dataclasses import replace

from domain.mail.mailbox import BINS, DRAFT, SENT, RawMessage
from domain.mail.outgoing.outgoing_mail import TOKEN_HEADER
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.triage.automation import detect_automation
from domain.mail.triage.automation_signals import Owner
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import emails, messages
from storage.mail.accounts.accounts import Account
from storage.mail.messages import Message
from storage.postgres.database import Transaction

MOST_OF_THREAD = 12
"""Messages of a thread that was never taken in: as many as a prompt shows."""
TOKEN_REFERENCE = re.compile(r"<([A-Za-z0-9_-]{8,64})@draft\.postroom\.invalid>")


def store(tx: Transaction, account: Account, raw: RawMessage, parsed: ParsedMessage) -> None:
    """Detect automation with what this account knows of the sender, and store the message."""
    message = _message(raw, parsed)
    if message.direction == "incoming":
        signs = detect_automation(parsed, raw.label_ids, _owner(tx, account, parsed, raw))
        message = replace(message, automation=signs)
    messages.upsert(tx, account.account_id, message)


def store_thread(ctx: JobContext, mailbox: Mailbox, account: Account, thread_id: str) -> None:
    """Fetch the latest mail of a thread that was never taken in, and store it; raises `Gone` when the thread is gone.

    All of it is stored at once: a part would be taken for the whole conversation.
    """
    shown = [one for one in mailbox.thread(thread_id).messages if not one.label_ids & {DRAFT, *BINS}]
    taken = []
    for facts in shown[-MOST_OF_THREAD:]:
        raw = mailbox.message(facts.message_id)
        taken.append((replace(raw, raw=b""), parse_message(raw.raw)))
        ctx.check()
    with ctx.tx() as tx:
        for raw, parsed in taken:
            store(tx, account, raw, parsed)


def _message(raw: RawMessage, parsed: ParsedMessage) -> Message:
    return Message(
        message_id=raw.message_id,
        thread_id=raw.thread_id,
        direction="outgoing" if SENT in raw.label_ids else "incoming",
        received_at=raw.received_at,
        label_ids=raw.label_ids,
        parsed=parsed,
    )


def _owner(tx: Transaction, account: Account, parsed: ParsedMessage, raw: RawMessage) -> Owner:
    sender = frozenset() if parsed.from_ is None else frozenset({parsed.from_.key})
    known = messages.known_correspondents(tx, account.account_id, sender, before=raw.received_at)
    ours = emails.known_draft_tokens(tx, account.account_id, tokens_of(parsed))
    return Owner(
        addresses=account.addresses,
        correspondents=frozenset(address for address, written_to in known.answer.items() if written_to),
        draft_tokens=frozenset(ours.answer),
    )


def tokens_of(parsed: ParsedMessage) -> frozenset[str]:
    """The tokens of our drafts that a message carries."""
    named = {value.strip() for value in parsed.header_values(TOKEN_HEADER.lower())}
    return frozenset(named | {found for one in parsed.references for found in TOKEN_REFERENCE.findall(one)})
