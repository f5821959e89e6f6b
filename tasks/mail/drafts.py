"""The drafts family: one machine draft per thread, written once, in its thread, never over a person's words."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from domain.jobs.failures import Gone, Transient
from domain.jobs.job import Cancel, Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.mail.correspondence import ORDERING, SETTLED, EmailState
from domain.mail.thread_plan import DRAFT_GONE, DraftStanding, ThreadBefore, plan_by_hand
from domain.payloads.drafts import ReworkPayload, WriteManualPayload, WritePayload
from domain.payloads.threads import CleanupPayload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import emails, messages
from storage.mail.accounts import accounts, expected_writes, labels
from storage.mail.emails import Email
from storage.postgres.database import Transaction
from tasks.mail.steps import message_intake
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.drafts.case import DraftCase, ask_for_case, read_case
from tasks.mail.steps.drafts.first_draft import skipped, write_draft
from tasks.mail.steps.drafts.rework import REWORK_KEY, find_reworked, rework_draft
from tasks.mail.steps.drafts.thread_draft import ThreadDraft, find_made
from tasks.mail.steps.mailbox_change import OpenThread, open_thread
from tasks.mail.steps.mailbox_session import OF_MAILBOX, check_connected

NO_RECORD = "the thread has no record"
NO_MAIL = "the thread has no mail"
WITHDRAWN = "the person took the label off again"
LOOK_AGAIN_AFTER = timedelta(seconds=5)
SEEN_WITHIN = timedelta(minutes=1)
"""Within it a sync sees a label, as a rule; another job may have taken the label off meanwhile."""
FINDS_OUT_WITHIN = timedelta(seconds=60)
"""Longer than `threads.cleanup` takes to find out what became of a draft."""


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    providers=("gmail", "anthropic"),
    finds={"draft": find_made},
    **OF_MAILBOX,
)
def write(ctx: JobContext, payload: WritePayload) -> Outcome:
    """Draft a reply to a thread that waits for one: context, model, one Gmail draft, Outbox label."""
    with ctx.read() as tx:
        asked = ask_for_case(tx, payload.account_id, payload.thread_id)
        email = emails.get(tx, payload.account_id, payload.thread_id) if asked is None else None
    if email is not None and email.state is EmailState.PENDING:
        return skipped(email, NO_MAIL)
    if asked is None:
        return Cancel(NO_RECORD)
    case = asked()
    if _waits_for_nothing(case.email):
        return Done({"skipped": f"the e-mail is {case.email.state}"})
    with open_thread(ctx, case.account, case.email.thread_id, case.label_ids) as thread:
        return write_draft(ThreadDraft(ctx, thread, case))


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    providers=("gmail", "anthropic"),
    finds={"draft": find_made},
    **OF_MAILBOX,
)
def write_manual(ctx: JobContext, payload: WriteManualPayload) -> Outcome:
    """Draft a reply that a Needs Response label or a service ordered, whatever the classification said."""
    thread_id = payload.thread_id
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
        label_ids = labels.ids_by_role(tx, payload.account_id)
        is_stored = bool(messages.of_thread(tx, payload.account_id, thread_id, limit=1))
        email = emails.get(tx, payload.account_id, thread_id)
    by_label = payload.by_label
    is_open = by_label and not _is_in_record(ctx, email, by_label=by_label)
    orders = {label_ids[role] for role in ORDERING & label_ids.keys()} if is_open else ()
    with open_thread(ctx, account, thread_id, label_ids) as thread:
        try:
            if orders and _is_withdrawn(ctx, thread.mailbox, payload, email, orders):
                return Done({"drafted": False, "why": WITHDRAWN})
            if not is_stored:
                message_intake.store_thread(ctx, thread.mailbox, account, thread_id)
            if email is not None and _has_ended(ctx, email, by_label=by_label):
                return _go_on(ctx, thread, payload)
            plan = plan_by_hand(_before_by_hand(thread, email))
            if plan.reason == DRAFT_GONE and email is not None:
                return _wait_for_cleanup(ctx, email)
            thread.carry_out(plan, email.draft if email else None)
        except Gone:
            return Done({"drafted": False, "why": "the thread is gone"})
        if not plan.order_draft:
            return Done({"drafted": False, "why": plan.reason}, writes=thread.finish)
        with ctx.tx() as tx:
            thread.finish(tx)
            case = _opened(tx, payload, email, ctx.job.created_at, by_service=not by_label)
        if case is not None:
            check_connected(case.account)
        thread.forget()
        return Cancel(NO_MAIL) if case is None else write_draft(ThreadDraft(ctx, thread, case))


@job(
    queue=Queue.CRITICAL,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    providers=("gmail", "anthropic"),
    finds={REWORK_KEY: find_reworked},
    **OF_MAILBOX,
)
def rework(ctx: JobContext, payload: ReworkPayload) -> Outcome:
    """Write the draft anew as its person asks in it; at most three times, and never over their own text."""
    with ctx.read() as tx:
        check_connected(accounts.get(tx, payload.account_id))
        case = read_case(tx, payload.account_id, payload.thread_id)
    if case is None:
        # Nobody has drafted here yet: the person gets a first draft.
        first = WriteManualPayload(
            account_id=payload.account_id, thread_id=payload.thread_id, by_label=payload.by_label
        )
        return Done({"reworked": False, "why": NO_RECORD}, children=(first.job(org_id=ctx.org_id),))
    with open_thread(ctx, case.account, case.email.thread_id, case.label_ids) as thread:
        try:
            return rework_draft(ThreadDraft(ctx, thread, replace(case, by_label=payload.by_label)))
        except Gone:
            return Done({"reworked": False, "why": "the thread is gone"})


def _waits_for_nothing(email: Email) -> bool:
    """Whether there is nothing to draft, and nothing to look for that an earlier attempt may have left behind."""
    no_first_draft = email.state in SETTLED | {EmailState.REWORK_REQUESTED}
    return no_first_draft and not (email.in_doubt or email.has_late_draft)


def _is_in_record(ctx: JobContext, email: Email | None, *, by_label: bool) -> bool:
    """Whether an earlier attempt has put this job's order into the record.

    For a service's job, the later order of a label alone does not count.
    """
    if email is None or email.by_hand_at is None or not (by_label or email.by_service):
        return False
    return email.by_hand_at >= ctx.job.created_at


def _is_withdrawn(
    ctx: JobContext, mailbox: Mailbox, payload: WriteManualPayload, email: Email | None, orders: Collection[str]
) -> bool:
    """Whether the person has taken the label off again that ordered the draft. Asks the mailbox; raises `Gone`.

    False where we may have taken the label off ourselves, with a move of the record or without, also where that would
    be too long ago to be remembered.
    """
    if email is not None and email.by_hand_at is None and email.state_changed_at >= ctx.job.created_at:
        return False
    shown = mailbox.thread(payload.thread_id).messages
    if any(one.label_ids.intersection(orders) for one in shown):
        return False
    since = ctx.job.created_at - SEEN_WITHIN
    if email is not None and ctx.now() - since > expected_writes.REMEMBER:
        return False
    with ctx.read() as tx:
        ids = [one.message_id for one in shown]
        return not expected_writes.took_off(tx, payload.account_id, ids, orders, since=since)


def _has_ended(ctx: JobContext, email: Email, *, by_label: bool) -> bool:
    """Whether this job's order is in the record, and the record waits for no draft any more.

    The attempt made and recorded the draft, and ended before it set the labels; or the thread was settled since.
    """
    return _is_in_record(ctx, email, by_label=by_label) and email.state is not EmailState.PENDING


def _before_by_hand(thread: OpenThread, email: Email | None) -> ThreadBefore:
    """The thread as it stands; the draft is always read, for the person may have thrown it away a moment ago."""
    if email is None:
        return ThreadBefore()
    if email.draft is None or email.before.draft is DraftStanding.NONE:
        return email.before
    return ThreadBefore(email.state, machine_drafts.standing(thread.mailbox, email.draft))


def _wait_for_cleanup(ctx: JobContext, email: Email) -> Outcome:
    """The record names a draft that is gone: `threads.cleanup` says what became of it, then this job goes on."""
    why: JsonObject = {"drafted": False, "why": DRAFT_GONE}
    if ctx.now() - ctx.job.created_at > FINDS_OUT_WITHIN:
        return Done(why)
    with ctx.tx() as tx:
        ctx.enqueue(tx, CleanupPayload(account_id=email.account_id, thread_id=email.thread_id, action="check_sent"))
    return Snooze(ctx.now() + LOOK_AGAIN_AFTER, DRAFT_GONE)


def _go_on(ctx: JobContext, thread: OpenThread, payload: WriteManualPayload) -> Outcome:
    with ctx.read() as tx:
        case = read_case(tx, payload.account_id, payload.thread_id)
    if case is None:
        return Cancel(NO_MAIL)
    if _waits_for_nothing(case.email):
        return Done({"drafted": False, "why": f"the e-mail is {case.email.state}"})
    return write_draft(ThreadDraft(ctx, thread, case))


def _opened(
    tx: Transaction, payload: WriteManualPayload, email: Email | None, asked_at: datetime, *, by_service: bool
) -> DraftCase | None:
    """Begin the thread's record or open a finished one again, write the order into it, and read the case.

    Raises `Transient` when the record has changed since it was read; the job plans again.
    """
    account_id, thread_id = payload.account_id, payload.thread_id
    stored = messages.of_thread(tx, account_id, thread_id)
    if not stored:
        return None
    message_id = next((one for one in reversed(stored) if one.direction == "incoming"), stored[-1]).message_id
    opened = True
    if email is None:
        opened = emails.open_email(tx, account_id, thread_id=thread_id, message_id=message_id)
    elif email.state in SETTLED:
        opened = emails.reopen(tx, account_id, thread_id, expected=email.state, message_id=message_id)
    ordered = emails.order_by_hand(tx, account_id, thread_id, at=asked_at, by_service=by_service)
    case = read_case(tx, account_id, thread_id)
    if not opened or not ordered or case is None:
        raise Transient("the thread has changed since it was planned on", code="thread.changed")
    return case
