"""Finds what became of a mail: its draft by the token, the sent mail by its draft (docs: sending.md#once)."""

from collections.abc import Iterator
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding, Found, NotFound
from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.mail.mailbox import DRAFT, SENT, Change, Draft, MessageFacts
from domain.mail.replies.lost_draft import shows_token
from domain.payloads.outbound import SendPayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import accounts
from storage.actions import actions
from storage.mail import messages, outgoing_mails
from storage.mail.outgoing_mails import MailRecord
from storage.postgres.database import Transaction
from tasks.mail.drafts.lost_drafts import TooManyDrafts, all_drafts, changes_since, described, messages_of
from tasks.mail.mailbox_session import open_mailbox

DRAFT_KEY, SEND_KEY = "outbound.draft", "outbound.send"
"""The first words of the keys of a mail's two effects; its action's id follows."""

MOST_DRAFTS = 100
"""So many drafts are read one by one where history cannot be; each costs twenty units of six thousand per minute."""


def sent(message_id: str, thread_id: str) -> JsonObject:
    """The ids of a sent mail, as an effect's result keeps them."""
    return {"sent": message_id, "thread_id": thread_id}


def find_outgoing(ctx: JobContext, order: SendPayload, key: str) -> Finding:
    """Ask the mailbox what became of a mail whose job has ended; `key` is that of its draft or of its sending.

    The key says which action's, and the action in which thread: a mended replay's order may name others.
    """
    account_id, action_id = order.account_id, UUID(key.rpartition(":")[2])
    with ctx.read() as tx:
        account = accounts.reachable(tx, account_id)
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
    """Find the draft with a mail's token, or the mail that was sent from it, by id and never by search.

    Found is `lost_drafts.described`, or `sent` when a person has sent it meanwhile. A reply's draft is looked for in
    its thread. Another's thread is not known yet: it is among what history tells of since before the draft, or where
    history has expired, among all drafts.
    """
    try:
        shown = list(_with_token(mailbox, mail, thread_id))
    except Gone:
        return _among_all(mailbox, mail.token)
    try:
        return _finding(mailbox, shown)
    except TooManyDrafts as many:
        return CannotTell(str(many))


def find_sent(mailbox: Mailbox, mail: MailRecord, draft: Draft) -> Finding:
    """Find out whether a draft was sent (docs: sending.md#once).

    While the draft is there it was not. When it is gone, the sent mail is in the draft's thread, or in history since
    before the draft. When it is in neither, a person has discarded the draft.
    """
    try:
        seen = mailbox.draft(draft.draft_id)
    except Gone:
        seen = None
    if seen is not None and seen.is_draft:
        return NotFound()
    if seen is not None and SENT in seen.label_ids:
        return Found(sent(seen.message_id, seen.thread_id))
    in_thread = next((one for one in messages_of(mailbox, draft.thread_id) if _left_as(one, mail)), None)
    if in_thread is not None:
        return Found(sent(in_thread.message_id, in_thread.thread_id))
    try:
        since = list(_since(mailbox, mail))
    except Gone:
        return CannotTell("the draft is gone, its thread shows no sent mail, and history no longer reaches back")
    later = next((one for one in since if SENT in one.label_ids), None)
    return NotFound() if later is None else Found(sent(later.message_id, later.thread_id))


def _left_as(message: MessageFacts, mail: MailRecord) -> bool:
    """Whether a message of the draft's thread is the sent mail; a thread that the draft began holds no other."""
    if SENT not in message.label_ids:
        return False
    return mail.message_type != "reply" or shows_token(message, mail.token)


def _with_token(mailbox: Mailbox, mail: MailRecord, thread_id: str | None) -> Iterator[MessageFacts]:
    if thread_id is None:
        yield from _since(mailbox, mail)
        return
    yield from (one for one in messages_of(mailbox, thread_id) if shows_token(one, mail.token))


def _since(mailbox: Mailbox, mail: MailRecord) -> Iterator[MessageFacts]:
    """The drafts and sent mails with the token that history tells of; `Gone` when history does not reach back."""
    changes = changes_since(mailbox, mail.history_id)
    for message_id in dict.fromkeys(one.message_id for one in changes if _may_be_ours(one)):
        try:
            facts = mailbox.message_facts(message_id)
        except Gone:
            continue
        if shows_token(facts, mail.token):
            yield facts


def _may_be_ours(change: Change) -> bool:
    return change.kind == "message_added" and bool(change.label_ids & {DRAFT, SENT})


def _finding(mailbox: Mailbox, shown: list[MessageFacts]) -> Finding:
    left = next((one for one in shown if SENT in one.label_ids), None)
    if left is not None:
        return Found(sent(left.message_id, left.thread_id))
    wanted = {one.message_id for one in shown}
    if not wanted:
        return NotFound()
    for draft in all_drafts(mailbox):
        if draft.message_id in wanted:
            return Found(described(draft))
    return CannotTell("the draft's message is there and the list of drafts does not show it")


def _among_all(mailbox: Mailbox, token: str) -> Finding:
    """Where history has expired: all drafts, each by id. A mail that was sent meanwhile cannot be told from none."""
    for place, draft in enumerate(all_drafts(mailbox)):
        if place == MOST_DRAFTS:
            return CannotTell(f"history has expired, and there are more than {MOST_DRAFTS} drafts")
        try:
            facts = mailbox.message_facts(draft.message_id)
        except Gone:
            continue
        if shows_token(facts, token):
            return Found(described(draft))
    return CannotTell("history has expired, and no draft carries the token: it may have been sent")
