"""The threads family: put a thread to rest when its person is done with it, or its draft was sent or thrown away."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from domain.jobs.failures import Gone
from domain.jobs.job import Done, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.jobs.uniqueness import while_queued
from domain.mail.correspondence import EmailEvent, EmailState, label_plan
from domain.mail.mailbox import SENT, MessageFacts
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import emails
from storage.mail.emails import Email
from storage.postgres.database import Transaction
from tasks.mail import machine_drafts, thread_labels
from tasks.mail.mailbox_session import open_mailbox

SETTLES_WITHIN = timedelta(seconds=10)
"""A sent message can take some seconds to appear in its thread; before that nothing is concluded from its absence."""

LOOK_AGAIN_AFTER = timedelta(seconds=2)

DRAFT_OUT = frozenset({EmailState.DRAFTED, EmailState.REWORK_REQUESTED})


class CleanupPayload(Payload):
    """Which thread, and why it is looked at."""

    account_id: UUID
    thread_id: str
    action: Literal["done", "check_sent"]
    draft_thread_id: str | None = None
    """Where the draft was last seen, when a person's edit of its subject has moved it to another thread."""


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=3),
    unique=while_queued("account_id", "thread_id", "action"),
    providers=("gmail",),
    aliases=("cleanup",),
)
def cleanup(ctx: JobContext, payload: CleanupPayload) -> Outcome:
    """Archive a thread that is done; find out whether a vanished draft was sent, discarded or merely edited."""
    with ctx.tx() as tx:
        email = emails.get(tx, payload.account_id, payload.thread_id)
    if payload.action == "done":
        with open_mailbox(ctx, payload.account_id) as mailbox:
            return _put_away(ctx, mailbox, payload, email)
    if email is None or email.draft_id is None or email.state not in DRAFT_OUT:
        return Done({"found": "no draft of ours is out"})
    with open_mailbox(ctx, payload.account_id) as mailbox:
        return _check_sent(ctx, mailbox, payload, email)


def _put_away(ctx: JobContext, mailbox: Mailbox, payload: CleanupPayload, email: Email | None) -> Outcome:
    try:
        thread_labels.show(ctx, mailbox, payload.account_id, payload.thread_id, label_plan(EmailEvent.DONE))
    except Gone:
        ctx.log.info("thread_gone", thread_id=payload.thread_id)

    def write(tx: Transaction) -> None:
        if email is not None and email.state is not EmailState.ARCHIVED:
            emails.move(tx, payload.account_id, payload.thread_id, expected=email.state, to=EmailState.ARCHIVED)

    return Done({"archived": True}, writes=write)


def _check_sent(ctx: JobContext, mailbox: Mailbox, payload: CleanupPayload, email: Email) -> Outcome:
    try:
        draft = mailbox.draft(email.draft_id or "")
    except Gone:
        draft = None
    if draft is not None and draft.is_draft:
        with ctx.tx() as tx:
            emails.replace_draft_message(tx, payload.account_id, draft_id=draft.draft_id, message_id=draft.message_id)
        return Done({"found": "edited" if draft.message_id != email.draft_message_id else "unchanged"})
    places = dict.fromkeys((email.thread_id, payload.draft_thread_id or email.thread_id))
    sent = next(filter(None, (_sent_since(mailbox, email, place) for place in places)), None)
    if sent is None and ctx.now() - ctx.job.created_at < SETTLES_WITHIN:
        return Snooze(ctx.now() + LOOK_AGAIN_AFTER, "a sent message may not be visible yet")
    event = EmailEvent.SKIPPED if sent is None else EmailEvent.DRAFT_SENT
    try:
        thread_labels.show(ctx, mailbox, payload.account_id, payload.thread_id, label_plan(event))
    except Gone:
        ctx.log.info("thread_gone", thread_id=payload.thread_id)
    return _concluded(payload, email, sent)


def _sent_since(mailbox: Mailbox, email: Email, thread_id: str) -> MessageFacts | None:
    """The message that the person sent in a thread after the draft was made, by id and never by search.

    The one that carries the draft's token if there is one; a mailer may have lost the token.
    """
    try:
        thread = mailbox.thread(thread_id)
    except Gone:
        return None
    since = email.drafted_at
    sent = [one for one in thread.messages if SENT in one.label_ids and (since is None or one.received_at >= since)]
    ours = [one for one in sent if email.draft_token and machine_drafts.shows_token(one, email.draft_token)]
    found = ours or sent
    return found[-1] if found else None


def _concluded(payload: CleanupPayload, email: Email, sent: MessageFacts | None) -> Outcome:
    here, thread_id = payload.account_id, payload.thread_id

    def write(tx: Transaction) -> None:
        if sent is None:
            emails.move(tx, here, thread_id, expected=email.state, to=EmailState.SKIPPED)
        else:
            emails.record_sent(
                tx, here, thread_id, expected=email.state, message_id=sent.message_id, at=sent.received_at
            )

    return Done(
        {"found": "discarded"} if sent is None else {"found": "sent", "message_id": sent.message_id}, writes=write
    )
