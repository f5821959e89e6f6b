"""Finds the drafts that we made, and takes them away unless a person has worked on them (docs: gmail.md#drafts)."""

from collections.abc import Iterator

from domain.jobs.effects import CannotTell, Finding, Found, NotFound, Strategy
from domain.jobs.failures import Gone
from domain.jobs.job import JsonObject
from domain.mail.mailbox import SENT, Draft, MessageFacts
from domain.mail.parsing.mime import parse_message
from domain.mail.replies.drafting import was_edited
from domain.mail.replies.replies import TOKEN_HEADER, token_reference
from domain.mail.thread_plan import DraftStanding
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail.emails import MadeDraft


def find(mailbox: Mailbox, thread_id: str, token: str) -> Finding:
    """Find a draft with this token, or the message sent from it, by id and thread; Gmail's search lags behind.

    Found is `described`, or `sent` and `sent_at` of the message that the person sent meanwhile.
    """
    try:
        shown = [one for one in mailbox.thread(thread_id).messages if shows_token(one, token)]
    except Gone:
        return NotFound()
    sent = next((one for one in shown if SENT in one.label_ids), None)
    if sent is not None:
        return Found({"sent": sent.message_id, "sent_at": sent.received_at.isoformat()})
    wanted = {one.message_id for one in shown}
    for draft in all_drafts(mailbox):
        if draft.message_id in wanted:
            return Found(described(draft))
    return NotFound() if not wanted else CannotTell("the thread shows the draft and the list of drafts does not")


def described(draft: Draft) -> JsonObject:
    """The ids of a draft, as an effect's result keeps them."""
    return {"draft_id": draft.draft_id, "message_id": draft.message_id, "thread_id": draft.thread_id}


def shows_token(message: MessageFacts, token: str) -> bool:
    """Whether a message was made from the draft with this token: by our header, or by the entry in References."""
    named = message.headers.get(TOKEN_HEADER.lower(), "").strip()
    return named == token or token_reference(token) in message.headers.get("references", "")


def shows_other_token(message: MessageFacts, token: str | None) -> bool:
    """Whether a message was made by us from another draft, such as a mail of an action (`outbound.send`).

    By our header only: References repeat the tokens of every earlier mail of a conversation.
    """
    named = message.headers.get(TOKEN_HEADER.lower(), "").strip()
    return bool(named) and named != token


def standing(mailbox: Mailbox, made: MadeDraft) -> DraftStanding:
    """Whether a draft is still in the mailbox, and whose words are in it."""
    try:
        draft = mailbox.draft(made.draft_id)
        if not draft.is_draft:
            return DraftStanding.NONE
        text = parse_message(mailbox.message(draft.message_id).raw).text
    except Gone:
        return DraftStanding.NONE
    return DraftStanding.EDITED if was_edited(text, made.fingerprint) else DraftStanding.UNTOUCHED


def delete(ctx: JobContext, mailbox: Mailbox, draft_id: str) -> None:
    """Delete a draft whose words are the machine's; one that is gone already is no failure."""
    ctx.effect(f"discard:{draft_id}", lambda: _delete(mailbox, draft_id), strategy=Strategy.IDEMPOTENT)


def _delete(mailbox: Mailbox, draft_id: str) -> JsonObject:
    try:
        mailbox.delete_draft(draft_id)
    except Gone:
        return {"draft_id": draft_id, "gone": True}
    return {"draft_id": draft_id}


def all_drafts(mailbox: Mailbox) -> Iterator[Draft]:
    """Every draft of a mailbox, page by page, with its ids only."""
    page_token = None
    while True:
        drafts, page_token = mailbox.drafts(page_token)
        yield from drafts
        if page_token is None:
            return
