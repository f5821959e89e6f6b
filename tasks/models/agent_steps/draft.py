"""A draft with an agent's words, by the protocol of all machine drafts: at most one per thread, made once.

The token is made of the run's random word and the call's id, so that a later attempt tells its own draft from another
job's (docs: drafts.md).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from domain.clean_text import clean_text
from domain.jobs.effects import Strategy
from domain.jobs.failures import Invalid, Transient
from domain.jobs.job import JsonObject
from domain.mail.correspondence import EmailEvent, EmailState, LabelRole
from domain.mail.outgoing.senders import choose_sender
from domain.mail.replies.draft_fingerprint import of_made
from domain.mail.replies.plain_reply import plain_reply
from domain.mail.replies.replies import MessageHead, Original, reply_message
from domain.mail.thread_plan import plan_event
from domain.models.agents.agent_draft import RecordStep, is_discarded, plan_record
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.mail import emails
from storage.mail.accounts.accounts import Account
from storage.mail.emails import Email
from storage.mail.messages import Message
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.drafts.case import DraftCase, original_of, read_case
from tasks.mail.steps.drafts.thread_draft import THROWN_AWAY, Became, ThreadDraft
from tasks.mail.steps.mailbox_change import OpenThread, discard_draft, open_thread

MADE = "A draft was saved in the thread. Its owner will read it before it is sent."
SENT_ALREADY = "The draft was saved, and its owner has sent it already."
DISCARDED = "The draft was saved, and its owner has thrown it away. There will be no other."
MOVED = "was settled while the draft was made; the draft was taken back, unless its owner has worked on it"
NEWER = "has changed since this run began"


@dataclass(frozen=True, slots=True)
class DraftOrder:
    """What a draft is made from: the message to answer, its thread, oldest first, and the call that asks for it."""

    account: Account
    asked: Message
    thread: tuple[Message, ...]
    newest: str
    """The id of the message that was the thread's last when the run began; the model has read none after it."""
    call_id: str
    body: str
    secret: str
    """The run's own random word, which nobody is shown; the same in each attempt."""

    @property
    def original(self) -> Original:
        """What a reply needs to know; raises `Invalid` when a person has to choose whom to answer."""
        return original_of(self.account, self.asked, self.thread)

    @property
    def token(self) -> str:
        """The draft's token: the same for a call in each attempt, and nobody can guess it."""
        return hashlib.sha256(f"{self.secret}:{self.call_id}".encode()).hexdigest()[:32]


def save_draft(ctx: JobContext, order: DraftOrder, label_ids: Mapping[LabelRole, str]) -> str:
    """Save a draft in the thread; returns what the model is told, or raises `Invalid` with why there is none."""
    original = order.original
    with open_thread(ctx, order.account, order.asked.thread_id, label_ids, purpose=order.call_id) as thread:
        sender = choose_sender(thread.mailbox.send_as(), order.account.email, order.asked.parsed)
        body = sender.signed(plain_reply(clean_text(order.body), sender.name))
        draft = ThreadDraft(ctx, thread, _case_to_fill(ctx, thread, order))
        thread.prepare(plan_event(draft.email.before, EmailEvent.DRAFT_WRITTEN, MADE).labels)
        if draft.email.state is EmailState.DRAFTED:
            # An earlier attempt recorded this very draft, and ended before it set the labels.
            thread.change()
            return _finish(draft)
        raw = reply_message(original, sender, body, token=order.token, date=ctx.now())
        effect, made = _make(draft, order, raw)
        match draft.record(effect, made, of_made(body, MessageHead.of_reply(original, sender))):
            case Became.SENT:
                return SENT_ALREADY
            case Became.DISCARDED:
                return DISCARDED
            case Became.MOVED:
                raise Invalid("thread", MOVED)
        return _finish(draft)


def _finish(draft: ThreadDraft) -> str:
    with draft.ctx.tx() as tx:
        draft.thread.finish(tx)
    return MADE


def _make(draft: ThreadDraft, order: DraftOrder, raw: bytes) -> tuple[EffectGuard, JsonObject]:
    """Make the draft once; its result is still to be recorded.

    Where the record waits for no draft any more, or the message was thrown away, an earlier attempt's draft is looked
    for and none is made.
    """
    is_thrown_away = draft.is_thrown_away()
    if not is_thrown_away and (made := draft.make(order.token, raw, newest=order.newest)) is not None:
        return made
    why = THROWN_AWAY if is_thrown_away else NEWER
    if draft.email.draft_token != order.token:
        raise Invalid("thread", why)
    effect, left = draft.look(order.token)
    if left is None:
        with draft.ctx.tx() as tx:
            effect.drop(tx)
            emails.forget_draft(tx, *draft.where)
        raise Invalid("thread", why)
    return effect, left


def _case_to_fill(ctx: JobContext, thread: OpenThread, order: DraftOrder) -> DraftCase:
    """The thread's case, whose record waits for a draft: opened, or opened again.

    Raises `Invalid` where no draft may be made.
    """
    account_id, thread_id, message_id = order.account.account_id, order.asked.thread_id, order.asked.message_id
    with ctx.tx() as tx:
        if emails.get(tx, account_id, thread_id) is None:
            emails.open_email(tx, account_id, thread_id=thread_id, message_id=message_id)
        case = read_case(tx, account_id, thread_id)
    if case is None:
        raise Invalid("thread", "is gone")
    email = case.email
    planned = plan_record(
        email.state, is_own=email.draft_token == order.token, is_in_doubt=email.in_doubt or email.has_late_draft
    )
    return _reopened(ctx, thread, order, email) if planned is RecordStep.REOPEN else case


def _reopened(ctx: JobContext, thread: OpenThread, order: DraftOrder, email: Email) -> DraftCase:
    """The case with a finished record opened again; its old draft goes first, unless a person has worked on it."""
    old = None if email.state is EmailState.SENT else email.draft
    if old is not None and is_discarded(machine_drafts.standing(thread.mailbox, old)):
        discard = partial(discard_draft, thread.mailbox, old.draft_id)
        ctx.effect(f"discard:{old.draft_id}", discard, strategy=Strategy.IDEMPOTENT)
    account_id, thread_id = email.account_id, email.thread_id
    with ctx.tx() as tx:
        emails.reopen(tx, account_id, thread_id, expected=email.state, message_id=order.asked.message_id)
        again = read_case(tx, account_id, thread_id)
    if again is None or again.email.state is not EmailState.PENDING:
        raise Transient("the thread's record has changed since it was read", code="thread.changed")
    return again
