"""The drafts family: one machine draft per thread, written once, in its thread, never over a person's words."""

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from domain.jobs.failures import Gone, Invalid, Transient
from domain.jobs.job import Cancel, Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.jobs.uniqueness import while_active
from domain.mail.correspondence import EmailEvent, EmailState, label_plan
from domain.mail.parsing.parsed_message import Address
from domain.mail.replies.drafting import DraftText, accept_draft, draft_prompt, fingerprint
from domain.mail.replies.replies import Original, reply_message
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.mail import emails, messages, rules
from storage.mail.emails import Email, MadeDraft
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from tasks.mail import machine_drafts, thread_labels
from tasks.mail.language_model import ask, boundary
from tasks.mail.mailbox_session import open_mailbox


class WritePayload(Payload):
    """Which thread, and the message that asked for an answer."""

    account_id: UUID
    thread_id: str
    message_id: str


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    unique=while_active("account_id", "thread_id"),
    providers=("gmail", "anthropic"),
    aliases=("draft",),
)
def write(ctx: JobContext, payload: WritePayload) -> Outcome:
    """Draft a reply to a thread that waits for one: context, model, one Gmail draft, Outbox label."""
    here, thread_id = payload.account_id, payload.thread_id
    with ctx.tx() as tx:
        email = emails.get(tx, here, thread_id)
        account = accounts.get(tx, here)
        thread = messages.of_thread(tx, here, thread_id)
    if email is None or not thread:
        return Cancel("the thread has no record")
    if email.state not in {EmailState.PENDING, EmailState.DRAFTED}:
        return Done({"skipped": f"the e-mail is {email.state}"})
    with open_mailbox(ctx, here) as mailbox:
        try:
            return _answer(ctx, mailbox, account, email, thread)
        except Gone:
            return _skipped(email, "the thread is gone")


def _answer(ctx: JobContext, mailbox: Mailbox, account: Account, email: Email, thread: tuple[Message, ...]) -> Outcome:
    here, thread_id = account.account_id, email.thread_id
    if email.state is EmailState.PENDING:
        if thread[-1].direction == "outgoing":
            return _close(ctx, mailbox, email, EmailEvent.SKIPPED, "the person has answered already")
        try:
            made = _make(ctx, mailbox, account, email, thread)
        except Invalid as refusal:
            ctx.log.warning("nothing_to_draft", field=refusal.field, reason=refusal.reason)
            return _close(ctx, mailbox, email, EmailEvent.REWORKS_EXHAUSTED, f"no usable reply: {refusal.reason}")
        if "sent" in made:
            return _sent_already(ctx, mailbox, email, made)
        if not _recorded(ctx, mailbox, email, made):
            return Done({"drafted": False, "why": "the e-mail was moved while its draft was made"})
    thread_labels.show(ctx, mailbox, here, thread_id, label_plan(EmailEvent.DRAFT_WRITTEN))
    return Done({"drafted": True})


def _text(ctx: JobContext, account: Account, thread: tuple[Message, ...]) -> DraftText:
    """The reply's words, from this or an earlier attempt; `Invalid` when the model's answer cannot be used."""
    with ctx.tx() as tx:
        guidance = rules.guidance(tx, account.account_id, thread[-1].parsed.from_)
    prompt = draft_prompt([one.parsed for one in thread], boundary(), guidance=guidance)
    return accept_draft(ask(ctx, account.account_id, "draft", ctx.runtime.settings.draft_model, prompt))


def _make(ctx: JobContext, mailbox: Mailbox, account: Account, email: Email, thread: tuple[Message, ...]) -> JsonObject:
    """Make the draft once; the token is committed before, so that an orphan is found again.

    Raises `Invalid` when the message has no sender to answer or the model gave no usable reply.
    """
    here, thread_id = account.account_id, email.thread_id
    asked = next((one for one in reversed(thread) if one.direction == "incoming"), thread[-1])
    original = Original.of(asked.parsed)
    body = _text(ctx, account, thread).body
    with ctx.tx() as tx:
        token = emails.plan_draft(tx, here, thread_id, token=secrets.token_urlsafe(18))
    if token is None:
        raise Transient("the e-mail was moved meanwhile")
    raw = reply_message(original, Address("", account.email), body, token=token, date=ctx.now())
    made = ctx.effect(
        f"draft:{email.email_id}:{token}",
        lambda: machine_drafts.described(mailbox.create_draft(raw, thread_id=thread_id)),
        find=lambda: machine_drafts.find(mailbox, thread_id, token),
    )
    return made | {"fingerprint": fingerprint(body)}


def _recorded(ctx: JobContext, mailbox: Mailbox, email: Email, made: JsonObject) -> bool:
    """Keep the draft's record; when the e-mail is no longer pending nobody waits for the draft, and it goes again."""
    draft = MadeDraft(made["draft_id"], made["message_id"], made["fingerprint"])
    here, thread_id = email.account_id, email.thread_id
    with ctx.tx() as tx:
        reworks = emails.record_draft(tx, here, thread_id, expected=EmailState.PENDING, draft=draft)
    if reworks is None:
        machine_drafts.discard(ctx, mailbox, draft.draft_id, draft.fingerprint)
    return reworks is not None


def _sent_already(ctx: JobContext, mailbox: Mailbox, email: Email, made: JsonObject) -> Outcome:
    """An earlier attempt made the draft, its record was lost, and the person has sent it since."""
    thread_labels.show(ctx, mailbox, email.account_id, email.thread_id, label_plan(EmailEvent.DRAFT_SENT))
    at = datetime.fromisoformat(made["sent_at"])

    def write(tx: Transaction) -> None:
        emails.record_sent(
            tx, email.account_id, email.thread_id, expected=EmailState.PENDING, message_id=made["sent"], at=at
        )

    return Done({"drafted": True, "sent": made["sent"]}, writes=write)


def _close(ctx: JobContext, mailbox: Mailbox, email: Email, event: EmailEvent, why: str) -> Outcome:
    """No draft of ours: show on the thread what that means for the person, and put the record to rest."""
    thread_labels.show(ctx, mailbox, email.account_id, email.thread_id, label_plan(event))
    return _skipped(email, why)


def _skipped(email: Email, why: str) -> Outcome:
    def write(tx: Transaction) -> None:
        emails.move(tx, email.account_id, email.thread_id, expected=email.state, to=EmailState.SKIPPED)

    return Done({"drafted": False, "why": why}, writes=write)
