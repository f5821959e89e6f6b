"""The Gmail family: bring a mailbox up to date, take messages in, keep labels and the push watch."""

from collections.abc import Iterator
from datetime import timedelta

from domain.jobs.failures import Gone, Throttled
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.mail.backfill import SHARE, check_wish
from domain.mail.mailbox import BINS, DRAFT, INBOX, SENT, RawMessage
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.payloads.gmail import (
    BackfillMessagesPayload,
    BackfillPayload,
    IngestPayload,
    RenewWatchPayload,
    SyncLabelsPayload,
    SyncPayload,
)
from domain.payloads.threads import CleanupPayload
from domain.payloads.triage import ClassifyPayload
from engine.catalogue import job
from engine.context import JobContext
from storage.mail import backfills, emails, messages
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.mail.backfills import WantedBackfill
from storage.postgres.database import Transaction
from tasks.mail.steps import mailbox_backfill, mailbox_labels, mailbox_sync, message_intake, push_watch
from tasks.mail.steps.mailbox_session import OF_MAILBOX, check_connected, open_mailbox

NOT_YET_VISIBLE_FOR = timedelta(seconds=30)
"""A message that history has just named can be missing for some seconds (docs: gmail.md#history); later it is gone."""


@job(queue=Queue.DEFAULT, retry=PIPELINE, deadline=timedelta(minutes=5), providers=("gmail",), **OF_MAILBOX)
def sync(ctx: JobContext, payload: SyncPayload) -> Outcome:
    """Bring one mailbox up to date by Gmail's history, or by a full sync where the history has expired."""
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
    check_connected(account)
    # Read history even if the push's id is old: a later push may have been merged into this job while it was queued.
    run = mailbox_sync.SyncRun(ctx, account)
    with open_mailbox(ctx, account) as mailbox:
        if account.history_id is None or payload.force_full:
            return Done(run.full(mailbox, by_schedule=payload.reason == "full"))
        try:
            return run.incremental(mailbox, account.history_id, awaited=payload.history_id if _is_young(ctx) else None)
        except Gone:
            ctx.log.warning("history_expired", account_id=str(account.account_id))
            return Done(run.full(mailbox, unknown=account.history_id) | {"why": "history expired"})


def _is_young(ctx: JobContext) -> bool:
    return ctx.now() - ctx.job.created_at < NOT_YET_VISIBLE_FOR


@job(queue=Queue.DEFAULT, deadline=timedelta(minutes=3), providers=("gmail",), **OF_MAILBOX)
def ingest(ctx: JobContext, payload: IngestPayload) -> Outcome:
    """Fetch one message, parse and store it, and enqueue its classification when it is in the inbox."""
    with ctx.read() as tx:
        asked = accounts.ask_for(tx, payload.account_id)
    account = asked.answer
    try:
        with open_mailbox(ctx, account) as mailbox:
            raw = mailbox.message(payload.message_id)
    except Gone:
        if _is_young(ctx):
            return Snooze(ctx.now() + mailbox_sync.LOOK_AGAIN_AFTER, "the message is not visible yet")

        def write(tx: Transaction) -> None:
            messages.mark_deleted(tx, account.account_id, {payload.message_id})

        return Done({"gone": True}, writes=write)
    return _keep(ctx, account, raw)


def _keep(ctx: JobContext, account: Account, raw: RawMessage) -> Outcome:
    account_id = account.account_id
    if raw.label_ids & {DRAFT, *BINS}:

        def change_labels(tx: Transaction) -> None:
            # The message may have been stored before a person moved it there.
            left = {INBOX} - raw.label_ids
            messages.change_labels(tx, account_id, {raw.message_id}, add=raw.label_ids, remove=left)

        return Done({"kept": False, "labels": sorted(raw.label_ids)}, writes=change_labels)
    parsed = parse_message(raw.raw)
    output: JsonObject = {"kept": True, "defects": [str(defect) for defect in parsed.defects]}
    wanted = INBOX in raw.label_ids and SENT not in raw.label_ids
    classify = ClassifyPayload(account_id=account_id, message_id=raw.message_id)
    children = (classify.job(org_id=account.org_id),) if wanted else ()

    def write(tx: Transaction) -> None:
        message_intake.store(tx, account, raw, parsed)
        if SENT in raw.label_ids:
            ctx.enqueue(tx, *_settled_elsewhere(tx, account, raw, parsed))

    return Done(output, children, writes=write)


def _settled_elsewhere(
    tx: Transaction, account: Account, raw: RawMessage, parsed: ParsedMessage
) -> Iterator[CleanupPayload]:
    """Looks at the threads whose draft was sent under another subject, and so in the thread of this message."""
    account_id = account.account_id
    for thread_id in set(emails.known_draft_tokens(tx, account_id, message_intake.tokens_of(parsed)).answer.values()):
        if thread_id not in {"", raw.thread_id}:
            yield CleanupPayload(
                account_id=account_id, thread_id=thread_id, action="check_sent", draft_thread_id=raw.thread_id
            )


@job(queue=Queue.DEFAULT, deadline=timedelta(minutes=3), providers=("gmail",), **OF_MAILBOX)
def sync_labels(ctx: JobContext, payload: SyncLabelsPayload) -> Outcome:
    """Store the labels as Gmail lists them, with the user's descriptions; disable rules that name a deleted label."""
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
        missing = mailbox_labels.never_made(tx, account)
    with open_mailbox(ctx, account) as mailbox:
        return Done(mailbox_labels.bring_up_to_date(ctx, mailbox, account, missing))


@job(queue=Queue.MAINTENANCE, deadline=timedelta(minutes=2), providers=("gmail",), **OF_MAILBOX)
def renew_watch(ctx: JobContext, payload: RenewWatchPayload) -> Outcome:
    """Renew Gmail's push watch, which lapses after seven days, and store the account's own addresses.

    The cursor stays as it is.
    """
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
    with open_mailbox(ctx, account) as mailbox:
        made = push_watch.renew(mailbox, ctx.settings.pubsub_topic)
    output: JsonObject = {"expires_at": made.expires_at.isoformat(), "syncing": account.history_id is not None}
    return Done(output, writes=lambda tx: push_watch.record(tx, account, made))


@job(queue=Queue.MAINTENANCE, deadline=timedelta(minutes=5), providers=("gmail",), **OF_MAILBOX)
def backfill(ctx: JobContext, payload: BackfillPayload) -> Outcome:
    """Take in older mail that a search and a span of time select, once: page by page, in a share of Gmail's units."""
    now = ctx.now()
    check_wish(payload, now)
    wanted = WantedBackfill(payload.query, payload.since, payload.until, payload.classify, payload.most)
    with ctx.tx() as tx:
        account = accounts.get(tx, payload.account_id)
        check_connected(account)
        opened = backfills.open_backfill(tx, payload.account_id, wanted, job_id=ctx.job.job_id, now=now)
    if opened.state != "listing":
        return Done(mailbox_backfill.report_of(opened))
    if opened.next_page_at > now:
        return Snooze(opened.next_page_at, "the messages of the last page take their time")
    try:
        with open_mailbox(ctx, account, share=SHARE) as mailbox:
            return mailbox_backfill.read_pages(ctx, mailbox, account, opened)
    except Throttled as refusal:
        return mailbox_backfill.when_share_is_free(ctx, refusal)


@job(queue=Queue.MAINTENANCE, deadline=timedelta(minutes=10), providers=("gmail",), **OF_MAILBOX)
def backfill_messages(ctx: JobContext, payload: BackfillMessagesPayload) -> Outcome:
    """Fetch and store a few messages of a backfill; those that are stored already are skipped."""
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
        check_connected(account)
        asked = backfills.get(tx, payload.backfill_id)
        unknown = messages.unknown_of(tx, payload.account_id, payload.message_ids)
    try:
        with open_mailbox(ctx, account, share=SHARE) as mailbox:
            mailbox_backfill.store_all(ctx, mailbox, account, asked, unknown)
    except Throttled as refusal:
        return mailbox_backfill.when_share_is_free(ctx, refusal)
    handled = len(payload.message_ids)
    return Done(
        {"messages": handled, "fetched": len(unknown)},
        writes=lambda tx: backfills.count(tx, payload.backfill_id, handled=handled),
    )
