"""A draft with an agent's words, by the protocol of all machine drafts: at most one per thread, made once.

The token is made of the run's random word and the call's id, so that a later attempt tells its own draft from another
job's (docs: mail.md#drafts).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from domain.jobs.effects import Finding, Strategy
from domain.jobs.failures import Invalid, Transient
from domain.jobs.job import JsonObject
from domain.mail.correspondence import DRAFT_OUT, SETTLED, EmailEvent, EmailState, LabelRole
from domain.mail.parsing.parsed_message import Address
from domain.mail.replies.draft_fingerprint import UNKNOWN, of_made
from domain.mail.replies.drafting import DraftText, accept_draft
from domain.mail.replies.lost_draft import LostDraft
from domain.mail.replies.replies import Envelope, Original, reply_message
from domain.mail.thread_plan import DraftStanding, plan_event
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.accounts.accounts import Account
from storage.mail import emails
from storage.mail.emails import Email, MadeDraft
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from tasks.mail import lost_drafts, machine_drafts
from tasks.mail.thread_handle import ThreadHandle, open_thread

MADE = "A draft was saved in the thread. Its owner will read it before it is sent."
SENT_ALREADY = "The draft was saved, and its owner has sent it already."
HAS_DRAFT = "has a draft already, and a second one would confuse its owner"
PERSONS_DRAFT = "has a draft that its owner worked on"
IN_DOUBT = "may have a draft that is being looked for"
DISCARDED = "The draft was saved, and its owner has thrown it away. There will be no other."
MOVED = "was settled by its owner while the draft was made; the draft was taken back"
NEWER = "has changed since this run began"


@dataclass(frozen=True, slots=True)
class DraftOrder:
    """What a draft is made from: the message to answer, its thread, oldest first, and the call that asks for it."""

    account: Account
    asked: Message
    thread: tuple[Message, ...]
    call_id: str
    body: str
    secret: str
    """The run's own random word, which nobody is shown; the same in each attempt."""

    @property
    def newest(self) -> str:
        """The id of the message that was the thread's last when the run read it."""
        return self.thread[-1].message_id

    @property
    def original(self) -> Original:
        """What a reply needs to know; raises `Invalid` when a person has to choose whom to answer."""
        own = frozenset(address.casefold() for address in self.account.addresses)
        return Original.of(self.asked.parsed, [one.parsed for one in self.thread], own)

    @property
    def token(self) -> str:
        """The draft's token: the same for a call in each attempt, and nobody can guess it."""
        return hashlib.sha256(f"{self.secret}:{self.call_id}".encode()).hexdigest()[:32]


def save_draft(ctx: JobContext, order: DraftOrder, label_ids: Mapping[LabelRole, str]) -> str:
    """Save a draft in the thread; returns what the model is told, or raises `Invalid` with why there is none."""
    body = accept_draft(DraftText(body=order.body, confidence=1.0).model_dump()).body
    original, sender = order.original, Address("", order.account.email)
    token, thread_id = order.token, order.asked.thread_id
    with open_thread(ctx, order.account, thread_id, label_ids, purpose=order.call_id) as thread:
        email = _record_to_fill(ctx, thread, order, token)
        thread.prepare(plan_event(email.before, EmailEvent.DRAFT_WRITTEN, MADE).labels)
        if email.state is EmailState.DRAFTED:
            # An earlier attempt recorded this very draft, and ended before it set the labels.
            return _show(ctx, thread)
        raw = reply_message(original, sender, body, token=token, date=ctx.now())
        effect, made = _make(ctx, thread, order, email, token, raw)
        if "sent" in made:
            return _record_sent(ctx, effect, email, made)
        if "discarded" in made:
            return _record_discarded(ctx, effect, email)
        # A draft that may have been composed anew counts as a person's, whatever words it holds now.
        words = UNKNOWN if "composed" in made else of_made(body, Envelope.of_reply(original, sender))
        draft = MadeDraft(made["draft_id"], made["message_id"], words)
        if not effect.record_with(ctx.tx, partial(_store, thread, email, draft)):
            _take_back(ctx, thread, email, draft)
            raise Invalid("thread", MOVED)
        thread.apply()
        with ctx.tx() as tx:
            thread.finish(tx)
        return MADE


def _make(
    ctx: JobContext, thread: ThreadHandle, order: DraftOrder, email: Email, token: str, raw: bytes
) -> tuple[EffectGuard, JsonObject]:
    """Make the draft once; its result is still to be recorded.

    Where the record waits for no draft any more, an earlier attempt's draft is looked for and none is made.
    """
    here, thread_id = email.account_id, email.thread_id
    with ctx.tx() as tx:
        since = thread.history_id
        planned = emails.plan_draft(tx, here, thread_id, token=token, newest=order.newest, since=since)
        if token not in {planned, email.draft_token}:
            raise Invalid("thread", NEWER)
        effect = ctx.begin_effect(tx, f"draft:{email.email_id}:{token}")

    # Of a token that an earlier attempt stored, its own history id counts.
    began = email.draft_history_id if email.draft_token == token else since
    lost = LostDraft(thread_id, token, began, order.asked.parsed.message_id)

    def find() -> Finding:
        return lost_drafts.find(thread.mailbox, lost)

    if planned == token:
        made = effect.carry_out(
            lambda: lost_drafts.described(thread.mailbox.create_draft(raw, thread_id=thread_id)), find
        )
        return effect, made
    left = effect.look(find)
    if left is None:
        with ctx.tx() as tx:
            effect.drop(tx)
            emails.forget_draft(tx, here, thread_id)
        raise Invalid("thread", NEWER)
    return effect, left


def _record_to_fill(ctx: JobContext, thread: ThreadHandle, order: DraftOrder, token: str) -> Email:
    """The thread's record, waiting for a draft: opened, or opened again; raises `Invalid` where none may be made."""
    here, thread_id, message_id = order.account.account_id, order.asked.thread_id, order.asked.message_id
    with ctx.tx() as tx:
        email = emails.get(tx, here, thread_id)
        if email is None:
            emails.open_email(tx, here, thread_id=thread_id, message_id=message_id)
            email = emails.get(tx, here, thread_id)
    if email is None:
        raise Invalid("thread", "is gone")
    if email.draft_token == token:
        return email
    if email.state in DRAFT_OUT:
        raise Invalid("thread", HAS_DRAFT)
    if email.in_doubt or email.has_late_draft:
        raise Invalid("thread", IN_DOUBT)
    return _reopened(ctx, thread, order, email) if email.state in SETTLED else email


def _reopened(ctx: JobContext, thread: ThreadHandle, order: DraftOrder, email: Email) -> Email:
    """A finished record opened again; its old draft goes first, unless a person has worked on it."""
    if email.draft is not None and email.state is not EmailState.SENT:
        standing = machine_drafts.standing(thread.mailbox, email.draft)
        if standing is DraftStanding.EDITED:
            raise Invalid("thread", PERSONS_DRAFT)
        if standing is DraftStanding.UNTOUCHED:
            _discard(ctx, thread, email.draft.draft_id)
    here, thread_id = email.account_id, email.thread_id
    with ctx.tx() as tx:
        emails.reopen(tx, here, thread_id, expected=email.state, message_id=order.asked.message_id)
        again = emails.get(tx, here, thread_id)
    if again is None or again.state is not EmailState.PENDING:
        raise Transient("the thread's record has changed since it was read", code="thread.changed")
    return again


def _show(ctx: JobContext, thread: ThreadHandle) -> str:
    with ctx.tx() as tx:
        thread.begin(tx)
    thread.apply()
    with ctx.tx() as tx:
        thread.finish(tx)
    return MADE


def _store(thread: ThreadHandle, email: Email, draft: MadeDraft, tx: Transaction) -> bool:
    """Store the draft in the record and begin the label change; false when the record waits for no draft any more."""
    here, thread_id = email.account_id, email.thread_id
    if emails.record_draft(tx, here, thread_id, expected=EmailState.PENDING, draft=draft) is None:
        now = emails.get(tx, here, thread_id)
        # When the answer to the commit was lost, the repeated transaction finds the record as it wrote it.
        if now is None or now.state is not EmailState.DRAFTED or now.draft_id != draft.draft_id:
            emails.record_late_draft(tx, here, thread_id, draft=draft)
            return False
    thread.begin(tx)
    return True


def _take_back(ctx: JobContext, thread: ThreadHandle, email: Email, draft: MadeDraft) -> None:
    """Delete a draft that nobody waits for any more, unless a person has worked on it."""
    with ctx.tx() as tx:
        now = emails.get(tx, email.account_id, email.thread_id)
    if now is None or now.state not in SETTLED:
        return
    standing = machine_drafts.standing(thread.mailbox, draft)
    if standing is DraftStanding.UNTOUCHED:
        _discard(ctx, thread, draft.draft_id)
    if standing is not DraftStanding.EDITED:
        with ctx.tx() as tx:
            emails.forget_draft(tx, email.account_id, email.thread_id)


def _discard(ctx: JobContext, thread: ThreadHandle, draft_id: str) -> None:
    discard = partial(machine_drafts.discard, thread.mailbox, draft_id)
    ctx.effect(f"discard:{draft_id}", discard, strategy=Strategy.IDEMPOTENT)


def _record_discarded(ctx: JobContext, effect: EffectGuard, email: Email) -> str:
    """An earlier attempt made the draft, its record was lost, and its owner has thrown it away: it stays away."""
    here, thread_id = email.account_id, email.thread_id

    def write(tx: Transaction) -> None:
        emails.forget_draft(tx, here, thread_id)
        emails.move(tx, here, thread_id, expected=EmailState.PENDING, to=EmailState.SKIPPED)

    effect.record_with(ctx.tx, write)
    return DISCARDED


def _record_sent(ctx: JobContext, effect: EffectGuard, email: Email, made: JsonObject) -> str:
    """An earlier attempt made the draft, its record was lost, and its owner has sent it since."""
    at = datetime.fromisoformat(made["sent_at"])
    here, thread_id = email.account_id, email.thread_id

    def write(tx: Transaction) -> None:
        emails.record_sent(tx, here, thread_id, expected=EmailState.PENDING, message_id=made["sent"], at=at)

    effect.record_with(ctx.tx, write)
    return SENT_ALREADY
