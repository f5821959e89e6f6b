"""One attempt at a backfill: its pages are read, and what nobody has stored is ordered in batches, spread over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from domain.jobs.failures import Gone, Permanent, Throttled, Transient
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.mail.backfill import (
    MOST_PAGES_AT_ONCE,
    MOST_RESTARTS,
    PRIORITY,
    SHARE,
    after_page,
    batches,
    is_wanted,
    search_words,
    spacing,
)
from domain.mail.mailbox import BINS, DRAFT, INBOX, SENT, MessagePage
from domain.mail.parsing.mime import parse_message
from domain.payloads.gmail import BackfillMessagesPayload
from domain.payloads.triage import ClassifyPayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import backfills, messages
from storage.mail.accounts.accounts import Account
from storage.mail.backfills import Backfill, State
from storage.postgres.database import Transaction
from tasks.mail.steps import message_intake

EXPIRED_TOKEN = "gmail.invalidArgument"  # noqa: S105 - a reason word of Gmail's
"""What Gmail answers to a page token that it no longer knows, and to a search that it does not understand."""


MOST_FAILURES = 3
"""Messages of a batch that fail before the others are left for the next attempt: Gmail itself is in trouble then."""


def read_pages(ctx: JobContext, mailbox: Mailbox, account: Account, backfill: Backfill) -> Outcome:
    """Read pages until one orders something, and come back when that should be done; `Done` after the last page.

    A page's batches and the token of the next page commit together, the last page's with the settlement.
    """
    for _ in range(MOST_PAGES_AT_ONCE):
        page = _page(mailbox, backfill)
        if page is None:
            with ctx.tx() as tx:
                backfills.restart(tx, backfill)
                backfill = backfills.get(tx, backfill.backfill_id)
            continue
        step = _Page(ctx, account, backfill, page)
        with ctx.tx() as tx:
            wanted = step.unknown(tx)
            state = step.next_state(wanted)
            if state == "listing":
                backfill = step.store(tx, wanted, state)
        if state != "listing":
            return Done(writes=partial(step.finish, wanted, state))
        ctx.progress({"pages": backfill.pages, "found": backfill.found, "ordered": backfill.ordered})
        if backfill.next_page_at > ctx.now():
            return Snooze(backfill.next_page_at, "the messages of the last page take their time")
        ctx.check()
    return Snooze(ctx.now(), "there are more pages")


def _page(mailbox: Mailbox, backfill: Backfill) -> MessagePage | None:
    """The page that a backfill stands at; None when its token has expired."""
    words = search_words(backfill.query, backfill.since, backfill.until_at)
    try:
        return mailbox.search(words, page=backfill.page_token)
    except Permanent as refusal:
        if backfill.page_token is None or refusal.code != EXPIRED_TOKEN:
            raise
        if backfill.restarts >= MOST_RESTARTS:
            raise Permanent(
                f"Gmail has forgotten the page {backfill.restarts} times", code="backfill.restarts"
            ) from None
        return None


@dataclass(frozen=True, slots=True)
class _Page:
    """One page, and where the backfill stood before it."""

    ctx: JobContext
    account: Account
    before: Backfill
    page: MessagePage

    def unknown(self, tx: Transaction) -> list[str]:
        """The messages that nobody has stored, as many as may still be ordered."""
        ids = [one.message_id for one in self.page.messages]
        room = self.before.most - self.before.ordered
        return list(messages.unknown_of(tx, self.account.account_id, ids))[:room]

    def next_state(self, wanted: Sequence[str]) -> State:
        """Whether the search goes on after this page."""
        return after_page(
            ordered=self.before.ordered + len(wanted), most=self.before.most, more=self.page.next_page is not None
        )

    def store(self, tx: Transaction, wanted: Sequence[str], state: State) -> Backfill:
        """Order these messages and go on to the next page; the backfill as it stands then."""
        last_due = self._order(tx, wanted)
        moved = backfills.advance(
            tx,
            self.before,
            page_token=self.page.next_page if state == "listing" else None,
            state=state,
            next_page_at=last_due,
            found=len(self.page.messages),
            ordered=len(wanted),
        )
        if not moved:
            raise Transient("another attempt has read the page", code="backfill.moved")
        return backfills.get(tx, self.before.backfill_id)

    def finish(self, wanted: Sequence[str], state: State, tx: Transaction) -> JsonObject:
        """The same for the last page, in the transaction that settles the job; returns the job's output."""
        return report_of(self.store(tx, wanted, state))

    def _order(self, tx: Transaction, wanted: Sequence[str]) -> datetime:
        """Enqueue the batches, one after the other; when the last of them should be done."""
        due = max(self.ctx.now(), self.before.next_page_at)
        for batch in batches(wanted):
            payload = BackfillMessagesPayload(
                account_id=self.account.account_id, backfill_id=self.before.backfill_id, message_ids=batch
            )
            self.ctx.enqueue(tx, payload, run_at=due, priority=PRIORITY)
            due += spacing()
        return due


def report_of(backfill: Backfill) -> JsonObject:
    """What the job that reads the pages says at its end; batches may still be under way."""
    return {
        "state": backfill.state,
        "pages": backfill.pages,
        "found": backfill.found,
        "ordered": backfill.ordered,
        "until": backfill.until_at.isoformat(),
    }


def store_all(ctx: JobContext, mailbox: Mailbox, account: Account, backfill: Backfill, wanted: Sequence[str]) -> None:
    """Fetch, parse and store messages, one after the other; the others are stored although one cannot be.

    Raises the first failure at the end, and as soon as `MOST_FAILURES` have failed.
    """
    failed: list[Permanent | Transient] = []
    for place, message_id in enumerate(wanted):
        if place:
            ctx.check()
        try:
            _store_one(ctx, mailbox, account, backfill, message_id)
        except Gone:
            continue
        except (Permanent, Transient) as failure:
            ctx.log.warning("message_not_stored", message_id=message_id, code=failure.code, reason=failure.reason)
            failed.append(failure)
            if len(failed) == MOST_FAILURES:
                break
    if failed:
        raise failed[0]


def _store_one(ctx: JobContext, mailbox: Mailbox, account: Account, backfill: Backfill, message_id: str) -> None:
    """Store one message, and have it classified where the backfill says so; raises `Gone` when there is none."""
    raw = mailbox.message(message_id)
    if raw.label_ids & {DRAFT, *BINS} or not is_wanted(raw.received_at, backfill.since, backfill.until_at):
        return
    parsed = parse_message(raw.raw)
    with ctx.tx() as tx:
        message_intake.store(tx, account, raw, parsed)
        backfills.count(tx, backfill.backfill_id, stored=1)
        if backfill.classify and INBOX in raw.label_ids and SENT not in raw.label_ids:
            ctx.enqueue(tx, ClassifyPayload(account_id=account.account_id, message_id=message_id), priority=PRIORITY)


def when_share_is_free(ctx: JobContext, refusal: Throttled) -> Snooze:
    """Wait for room in the share of older mail; another limit closes its gate (the refusal is raised again)."""
    if refusal.provider != SHARE:
        raise refusal
    return Snooze(ctx.now() + refusal.retry_after, "older mail has had its share of Gmail's units")
