"""Finds what became of a mail: its draft by the token, the sent mail by its draft (docs: sending.md#once)."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding, Found, NotFound
from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.mail.mailbox import BINS, SENT, Draft, MessageFacts
from domain.mail.replies.lost_draft import LostDraft, shows_token, traces
from domain.payloads.outbound import SendPayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import messages, outgoing_mails
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.outgoing_mails import MailRecord
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts import lost_drafts
from tasks.mail.steps.drafts.lost_drafts import changes_since, messages_of
from tasks.mail.steps.mailbox_session import open_mailbox
from tasks.notifications.senders.drafted_mail import DISCARDED

DRAFT_KEY, SEND_KEY = "outbound.draft", "outbound.send"
"""The first words of the keys of a mail's two effects; its action's id follows."""


def token_of(action_id: UUID) -> str:
    """What the draft of an action's mail carries; after the ledger was restored, too, so that a lost draft is found."""
    return urlsafe_b64encode(sha256(DRAFT_KEY.encode() + action_id.bytes).digest()[:18]).decode()


def sent(message_id: str, thread_id: str) -> JsonObject:
    """The ids of a sent mail, as an effect's result keeps them."""
    return {"sent": message_id, "thread_id": thread_id}


def find_outgoing(ctx: JobContext, order: SendPayload, key: str) -> Finding:
    """Ask the mailbox what became of a mail whose job has ended; `key` is that of its draft or of its sending.

    The key says which action's, and the action in which thread: a mended replay's order may name others.
    """
    account_id, action_id = order.account_id, UUID(key.rpartition(":")[2])
    with ctx.read() as tx:
        account = accounts.get(tx, account_id)
        mail = outgoing_mails.get(tx, account_id, action_id)
        thread_id = _thread_of_reply(tx, account_id, mail)
    if mail is None:
        return CannotTell("nothing is written down of the mail")
    with open_mailbox(ctx, account) as mailbox:
        if key.startswith(f"{DRAFT_KEY}:"):
            return find_draft(mailbox, mail, thread_id)
        if mail.draft is None:
            return CannotTell("the mail's draft is not written down")
        return find_sent(mailbox, mail, mail.draft)


def _thread_of_reply(tx: Transaction, account_id: UUID, mail: MailRecord | None) -> str | None:
    """The thread of the message that a mail answers; None for another mail, and when the message was deleted."""
    if mail is None or mail.message_type != "reply":
        return None
    try:
        return messages.get(tx, account_id, actions.get(tx, account_id, mail.action_id).message_id).thread_id
    except Gone:
        return None


def find_draft(mailbox: Mailbox, mail: MailRecord, thread_id: str | None) -> Finding:
    """Find the draft with a mail's token, or the mail that was sent from it, as `lost_drafts.find` does.

    Found is `lost_drafts.described`, or `sent` when a person has sent it meanwhile, or `discarded` when they have
    thrown it away, or have written one of their own in its place: then nothing is sent.
    """
    found = lost_drafts.find(mailbox, LostDraft(thread_id, mail.token, mail.history_id))
    if not isinstance(found, Found):
        return found
    if "sent" in found.result:
        return Found(sent(found.result["sent"], found.result["thread_id"]))
    return Found(DISCARDED) if "composed" in found.result else found


def find_sent(mailbox: Mailbox, mail: MailRecord, draft: Draft) -> Finding:
    """Find out whether a draft was sent (docs: sending.md#once).

    While the draft is there it was not, and is not to be where it lies in the trash or in spam: Found is `discarded`.
    When it is gone, the sent mail is in the draft's thread, or in history since before the draft. When it is in
    neither, a person has discarded the draft.
    """
    try:
        seen = mailbox.draft(draft.draft_id)
    except Gone:
        seen = None
    if seen is not None and seen.is_draft:
        return NotFound()
    if seen is not None and SENT in seen.label_ids:
        return Found(sent(seen.message_id, seen.thread_id))
    if seen is not None and seen.label_ids & BINS:
        return Found(DISCARDED)
    in_thread = next((one for one in messages_of(mailbox, draft.thread_id) if _left_as(one, mail)), None)
    if in_thread is not None:
        return Found(sent(in_thread.message_id, in_thread.thread_id))
    try:
        moved = next(_since(mailbox, mail), None)
    except Gone:
        return CannotTell("the draft is gone, its thread shows no sent mail, and history no longer reaches back")
    return NotFound() if moved is None else Found(sent(moved.message_id, moved.thread_id))


def _left_as(message: MessageFacts, mail: MailRecord) -> bool:
    """Whether a message of the draft's thread is the sent mail; a thread that the draft began holds no other."""
    if SENT not in message.label_ids:
        return False
    return mail.message_type != "reply" or shows_token(message, mail.token)


def _since(mailbox: Mailbox, mail: MailRecord) -> Iterator[MessageFacts]:
    """The sent mails with the token that history tells of; `Gone` when history does not reach back."""
    for message_id in traces(changes_since(mailbox, mail.history_id)).sent:
        try:
            facts = mailbox.message_facts(message_id)
        except Gone:
            continue
        if shows_token(facts, mail.token):
            yield facts
