"""The threads family: settle a thread when its person is done with it, or its draft was sent or discarded."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Gone, Transient
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.mail.correspondence import DRAFT_OUT, SETTLED, EmailEvent
from domain.mail.mailbox import BINS, DRAFT, SENT, MessageFacts
from domain.mail.replies.lost_draft import shows_token, token_named
from domain.mail.thread_plan import DraftStanding, ThreadBefore, ThreadPlan, plan_event
from domain.payloads.threads import CleanupPayload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import emails, messages, outgoing_mails
from storage.mail.accounts import accounts, labels
from storage.mail.emails import Email
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.drafts.lost_drafts import messages_of
from tasks.mail.steps.drafts.thread_draft import THROWN_AWAY
from tasks.mail.steps.mailbox_change import OpenThread, open_thread
from tasks.mail.steps.mailbox_session import OF_MAILBOX, SETTLES_WITHIN

LOOK_AGAIN_AFTER = timedelta(seconds=2)

CLOCKS_APART = timedelta(seconds=5)
"""How far the database's clock may be ahead of Google's; `doctor` finds fault with a clock that is further off."""


@job(queue=Queue.DEFAULT, retry=PIPELINE, deadline=timedelta(minutes=3), providers=("gmail",), **OF_MAILBOX)
def cleanup(ctx: JobContext, payload: CleanupPayload) -> Outcome:
    """Archive a thread that is done; find out whether a vanished draft was sent, discarded or merely edited.

    The untouched draft of a message that its person has thrown away is discarded.
    """
    thread_id = payload.thread_id
    with ctx.read() as tx:
        email = emails.get(tx, payload.account_id, thread_id)
        account = accounts.get(tx, payload.account_id)
        label_ids = labels.ids_by_role(tx, payload.account_id)
    with open_thread(ctx, account, thread_id, label_ids) as thread:
        if payload.action == "done":
            return _close(thread, email, EmailEvent.DONE, "the person is done with it")
        if email is None or email.draft_id is None or email.state not in DRAFT_OUT:
            return Done({"found": "no draft of ours is out"})
        return _check_sent(thread, payload, email)


def _close(thread: OpenThread, email: Email | None, event: EmailEvent, why: str) -> Outcome:
    """Settle the thread, and discard the machine draft that its person has not touched."""
    before = email.before if email else ThreadBefore()
    draft = email.draft if email else None
    if draft is not None and before.draft is DraftStanding.UNREAD:
        before = replace(before, draft=machine_drafts.standing(thread.mailbox, draft))
    plan = plan_event(before, event, why)
    thread.carry_out_unless_gone(plan, draft)

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if email is None:
            changed = emails.get(tx, *thread.where) is not None
        elif plan.record is None:
            changed = False
        else:
            moved = emails.move(tx, *thread.where, expected=email.state, to=plan.record)
            # A settled record that was opened since has a question that its person was not done with.
            changed = not moved and email.state not in SETTLED
        # An earlier attempt may have discarded the draft without a record of it.
        is_gone = draft is not None and before.draft is DraftStanding.NONE
        if (plan.discard_draft or is_gone) and not changed:
            emails.forget_draft(tx, *thread.where)
        if changed:
            raise Transient("the thread's record has changed since it was read", code="thread.changed")

    return Done({"archived": plan.labels.archive, "why": why}, writes=write)


def _check_sent(thread: OpenThread, payload: CleanupPayload, email: Email) -> Outcome:
    ctx = thread.ctx
    try:
        draft = thread.mailbox.draft(email.draft_id or "")
    except Gone:
        draft = None
    if draft is not None and draft.is_draft:
        if _is_thrown_away(thread, email) and _is_untouched(thread, email):
            return _close(thread, email, EmailEvent.SKIPPED, THROWN_AWAY)
        account_id, draft_id, message_id = payload.account_id, draft.draft_id, draft.message_id

        def write(tx: Transaction) -> None:
            emails.replace_draft_message(tx, account_id, draft_id=draft_id, message_id=message_id)

        return Done({"found": "edited" if message_id != email.draft_message_id else "unchanged"}, writes=write)
    # The draft's wrapper around the sent message knows the thread that an edited subject has moved the draft to.
    moved_to = payload.draft_thread_id or (draft.thread_id if draft else email.thread_id)
    threads = dict.fromkeys((email.thread_id, moved_to))
    sent = next(filter(None, (_sent_since(ctx, thread.mailbox, email, one) for one in threads)), None)
    if sent is None and ctx.now() - ctx.job.created_at < SETTLES_WITHIN:
        return Snooze(ctx.now() + LOOK_AGAIN_AFTER, "a sent message may not be visible yet")
    event, reason = (EmailEvent.SKIPPED, "discarded") if sent is None else (EmailEvent.DRAFT_SENT, "sent")
    plan = plan_event(email.before, event, reason)
    thread.carry_out_unless_gone(plan)
    return _concluded(thread, email, plan, sent)


def _is_thrown_away(thread: OpenThread, email: Email) -> bool:
    """Whether the message of the record was thrown away, and all that came in after it; nobody's mail is left.

    Of a draft by hand the person knows better. What is stored is asked first, because the mailbox's answer is dear.
    """
    if email.by_hand_at is not None:
        return False
    with thread.ctx.read() as tx:
        stored = messages.of_thread(tx, *thread.where)
    return _is_over(email, stored) and _is_over(email, messages_of(thread.mailbox, thread.thread_id))


def _is_over(email: Email, shown: Sequence[Message | MessageFacts]) -> bool:
    ids = [one.message_id for one in shown]
    since = ids.index(email.message_id) if email.message_id in ids else 0
    return all(one.label_ids & {DRAFT, SENT, *BINS} for one in shown[since:])


def _is_untouched(thread: OpenThread, email: Email) -> bool:
    made = email.draft
    return made is not None and machine_drafts.standing(thread.mailbox, made) is DraftStanding.UNTOUCHED


def _sent_since(ctx: JobContext, mailbox: Mailbox, email: Email, thread_id: str) -> MessageFacts | None:
    """The message that the person sent in a thread from the draft, by id and never by search.

    The one that carries the draft's token if there is one, whatever its time: Google's clock is not the database's, and
    tells whole seconds. A mailer may have lost the token, and a rework may have planned another: then one since the
    draft was made. A mail that we sent for an action says nothing about the draft.
    """
    sent = [one for one in messages_of(mailbox, thread_id) if SENT in one.label_ids]
    ours = [one for one in sent if email.draft_token and shows_token(one, email.draft_token)]
    if ours:
        # Later mail of the conversation repeats the token in References.
        return ours[0]
    since = email.drafted_at
    later = [one for one in sent if since is None or one.received_at >= since - CLOCKS_APART]
    others = _without_mails_of_actions(ctx, email.account_id, later)
    return others[-1] if others else None


def _without_mails_of_actions(ctx: JobContext, account_id: UUID, sent: list[MessageFacts]) -> list[MessageFacts]:
    tokens = {token for one in sent if (token := token_named(one))}
    if not tokens:
        return sent
    with ctx.read() as tx:
        of_actions = outgoing_mails.tokens_among(tx, account_id, tokens)
    return [one for one in sent if token_named(one) not in of_actions]


def _concluded(thread: OpenThread, email: Email, plan: ThreadPlan, sent: MessageFacts | None) -> Outcome:

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if sent is not None:
            emails.record_sent(tx, *thread.where, expected=email.state, message_id=sent.message_id, at=sent.received_at)
        elif plan.record is not None:
            emails.move(tx, *thread.where, expected=email.state, to=plan.record)

    output: JsonObject = {"found": plan.reason}
    return Done(output if sent is None else output | {"message_id": sent.message_id}, writes=write)
