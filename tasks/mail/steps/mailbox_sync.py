"""One run of a mailbox's sync: its history by pages, or all mail of the last days (docs: gmail.md#history)."""

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from domain.jobs.failures import Gone, Permanent, Transient
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.mail.correspondence import DRAFT_OUT, ORDERING
from domain.mail.mailbox import INBOX, SENT, Change, HistoryPage, MessageRef
from domain.mail.routing import (
    BY_ROLE,
    CheckSent,
    Cleanup,
    Ingest,
    Intent,
    Rework,
    Sent,
    WriteManual,
    is_thrown_away,
    next_cursor,
    route,
)
from domain.mail.triage.asking_again import is_due_again
from domain.mail.triage.corrections import Removal, removals_in
from domain.payloads.drafts import ReworkPayload, WriteManualPayload, WritePayload
from domain.payloads.gmail import IngestPayload
from domain.payloads.payload import Payload
from domain.payloads.threads import CleanupPayload
from domain.payloads.triage import ClassifyPayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail import emails, messages
from storage.mail.accounts import cursors, expected_writes, labels
from storage.mail.accounts.accounts import Account
from storage.mail.emails import OpenRecord
from storage.mail.messages import WaitingMessage
from storage.mail.rules import corrections
from storage.postgres.database import Transaction
from tasks.mail.steps import action_orders
from tasks.mail.steps.drafts import orders as draft_orders
from tasks.mail.steps.language_model import models_asked

LOOK_BACK = timedelta(days=10)
"""How far a full sync looks (docs: seeds.md#000-84); longer when the last one was longer ago."""

OPEN_FOR = timedelta(days=30)
"""How far the schedule's full sync looks for records that are still open; longer when the last one was longer ago."""

MARGIN = timedelta(days=1)

LOOK_AGAIN_AFTER = timedelta(seconds=3)
"""When a job comes back for what Gmail does not show yet."""

MOST_ASKED = 50
"""Messages that a full sync asks for one by one, at 20 units each: a sixth of what a mailbox has in a minute."""

BEGINNING = datetime.min.replace(tzinfo=UTC)

NO_HOMES: Mapping[str, str] = {}

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class SyncWindow:
    """When a full sync looks at the mailbox, one time for all that it decides, and when the one before it did."""

    now: datetime
    last: datetime | None
    by_schedule: bool

    @property
    def mail_since(self) -> datetime:
        """Since when mail is compared with what is stored."""
        return self._back(LOOK_BACK)

    @property
    def records_since(self) -> datetime:
        """Since when records are looked at."""
        return self._back(OPEN_FOR) if self.by_schedule else BEGINNING

    def is_due(self, since: datetime) -> bool:
        """Whether what has waited since then is ordered: by the schedule less and less often, else always."""
        return not self.by_schedule or self.last is None or is_due_again(since, last_look=self.last, now=self.now)

    def _back(self, usual: timedelta) -> datetime:
        return self.now - usual if self.last is None else min(self.now - usual, self.last - MARGIN)


@dataclass(slots=True)
class PagedScan(Generic[Row]):
    """All rows of a kind, read page by page, and the job that each of them asks for, if it asks for one."""

    read: Callable[[Transaction, Row | None], Sequence[Row]]
    """The page that follows a row; an empty one when there is none."""
    job_for: Callable[[Row], Payload | None]
    last: Row | None = None
    is_over: bool = False

    def orders(self, tx: Transaction) -> list[Payload]:
        """The jobs that the next page asks for."""
        page = () if self.is_over else self.read(tx, self.last)
        self.is_over = not page
        self.last = page[-1] if page else self.last
        return [order for row in page if (order := self.job_for(row)) is not None]


@dataclass(frozen=True, slots=True)
class SyncRun:
    """One attempt at one mailbox."""

    ctx: JobContext
    account: Account

    def incremental(self, mailbox: Mailbox, cursor: int, *, awaited: int | None) -> Outcome:
        """Follow history from the stored cursor; each page's jobs and the new cursor commit together.

        The last page's commit with the settlement. `Snooze` when history does not reach the `awaited` id yet. Raises
        `Gone` when the cursor is too old.
        """
        pages, jobs, page_token, stored = 0, 0, None, cursor
        while True:
            page = mailbox.history(cursor, page_token)
            pages, stored = pages + 1, next_cursor(stored, page)
            if page.next_page is None:
                break
            with self.ctx.tx() as tx:
                jobs += self._store_page(tx, page, stored)
            page_token = page.next_page
            self.ctx.check()
        if awaited is not None and stored < awaited:
            with self.ctx.tx() as tx:
                self._store_page(tx, page, stored)
            return Snooze(self.ctx.now() + LOOK_AGAIN_AFTER, "history does not show yet what the push told of")

        def write(tx: Transaction) -> JsonObject:
            return {"jobs": jobs + self._store_page(tx, page, stored)}

        return Done({"how": "history", "pages": pages, "cursor": str(stored)}, writes=write)

    def _store_page(self, tx: Transaction, page: HistoryPage, cursor: int) -> int:
        """Enqueue the page's jobs, and move the cursor; returns the number of jobs."""
        ordered = self.ctx.enqueue(tx, *self._take(tx, page))
        cursors.advance_cursor(tx, self.account.account_id, cursor)
        return len(ordered)

    def full(self, mailbox: Mailbox, *, by_schedule: bool = False, unknown: int | None = None) -> JsonObject:
        """Search the last days for messages that are not stored as the mailbox has them.

        Where there is no cursor, or history did not know it (`unknown`), the cursor becomes the mailbox's history id.
        The id is read first, so that what comes in meanwhile is in the history after it (the 404 rule). With
        `by_schedule`, what waits is ordered at growing intervals (`is_due_again`): a message whose classification keeps
        failing, a thread whose draft Gmail does not take, a draft that nobody sends.
        """
        account_id = self.account.account_id
        profile = mailbox.profile()
        look = SyncWindow(self.ctx.now(), self.account.full_synced_at, by_schedule)
        since = look.mail_since
        found, moved = self._ingest_inbox(mailbox, since)
        if self.account.reopened_at is not None:
            action_orders.order_ended(self.ctx, account_id, moved)
        found += self._ingest_unknown(mailbox, SENT, since)
        found += self._catch_up_labels(mailbox)
        asked = models_asked(self.ctx.settings).name
        sweeps = (self._undecided(look, asked, moved), self._open_records(look, moved))
        while True:
            with self.ctx.tx() as tx:
                orders = [order for sweep in sweeps for order in sweep.orders(tx)]
                found += len(self.ctx.enqueue(tx, *orders))
                if all(sweep.is_over for sweep in sweeps):
                    # A cursor that history knows stays: only history tells soon of a sent draft or a label taken off.
                    if not cursors.set_first_cursor(tx, account_id, profile.history_id) and unknown is not None:
                        cursors.advance_cursor(tx, account_id, profile.history_id)
                        cursors.replace_cursor(tx, account_id, profile.history_id, unknown=unknown)
                    cursors.mark_full_sync(tx, account_id, look.now, asked=asked)
                    break
            self.ctx.check()
        return {"how": "full", "jobs": found, "since": since.isoformat(), "history_id": str(profile.history_id)}

    def _undecided(self, look: SyncWindow, asked: str, moved: frozenset[str]) -> PagedScan[WaitingMessage]:
        """Have messages classified that nobody has decided.

        One that has left the inbox is fetched again first, which orders its classification if it is back there.
        """
        account_id = self.account.account_id

        def read(tx: Transaction, last: WaitingMessage | None) -> Sequence[WaitingMessage]:
            if last is None:
                return messages.unclassified(tx, account_id, since=look.mail_since, asked=asked)
            return messages.unclassified(tx, account_id, since=last.received_at, after=last.message_id, asked=asked)

        def job_for(one: WaitingMessage) -> Payload | None:
            if one.message_id in moved or not (one.newly_asked or look.is_due(one.received_at)):
                return None
            return ClassifyPayload(account_id=account_id, message_id=one.message_id)

        return PagedScan(read, job_for)

    def _open_records(self, look: SyncWindow, moved: frozenset[str]) -> PagedScan[OpenRecord]:
        """Find out what became of drafts that are out, and have the drafts made that are still waited for.

        Their first jobs have ended without a draft, or are under way and make it before these.
        """
        account_id = self.account.account_id

        def read(tx: Transaction, last: OpenRecord | None) -> Sequence[OpenRecord]:
            return emails.open_records(tx, account_id, since=look.records_since, after=last)

        def job_for(one: OpenRecord) -> Payload | None:
            if not look.is_due(one.since):
                return None
            if one.state in DRAFT_OUT:
                thread_id = one.thread_id
                return CleanupPayload(
                    account_id=account_id, thread_id=thread_id, action="check_sent", draft_thread_id=thread_id
                )
            if not one.by_hand and one.message_id in moved:
                return None
            return WritePayload(account_id=account_id, thread_id=one.thread_id, message_id=one.message_id)

        return PagedScan(read, job_for)

    def _take(self, tx: Transaction, page: HistoryPage) -> list[Payload]:
        """Bring the stored messages in line with a page of history, and say which jobs it asks for."""
        account_id = self.account.account_id
        for change in page.changes:
            self._mirror(tx, change)
        others, by_actions = expected_writes.tell_apart(tx, account_id, page.changes)
        roles = labels.roles_by_id(tx, account_id)
        withdrawn = self._take_back(tx, removals_in(others), removals_in(by_actions))
        homes = self._homes(tx, [change for change in others if is_thrown_away(change)])
        return payloads_for(account_id, route(others, roles, frozenset(homes)), homes) + withdrawn

    def _homes(self, tx: Transaction, changes: Sequence[Change]) -> dict[str, str]:
        """The thread of record of each draft of ours among messages, and of each message beside a draft of ours."""
        account_id = self.account.account_id
        records = {one: emails.get(tx, account_id, one) for one in {change.thread_id for change in changes}}
        beside = {one for one, email in records.items() if email is not None and email.state in DRAFT_OUT}
        homes = {change.message_id: change.thread_id for change in changes if change.thread_id in beside}
        for change in changes:
            email = emails.by_draft_message(tx, account_id, change.message_id)
            if email is not None:
                homes[change.message_id] = email.thread_id
        return homes

    def _take_back(self, tx: Transaction, by_others: Sequence[Removal], by_actions: Sequence[Removal]) -> list[Payload]:
        """Learn from labels that their person took off, and withdraw the orders that were given by them.

        A label that an action took off withdraws its order as well, also where the action's job did not end. Returns
        the jobs that look for drafts which were made and not recorded before the order was withdrawn.
        """
        account_id = self.account.account_id
        corrections.record(tx, account_id, by_others)
        orders = draft_orders.ordering_labels(tx, account_id)
        left = {one.message_id for one in (*by_others, *by_actions) if one.label_id in orders}
        return draft_orders.withdraw(tx, account_id, left, orders)

    def _mirror(self, tx: Transaction, change: Change) -> None:
        account_id, message = self.account.account_id, {change.message_id}
        match change.kind:
            case "labels_added":
                messages.change_labels(tx, account_id, message, add=change.label_ids, remove=())
            case "labels_removed":
                messages.change_labels(tx, account_id, message, add=(), remove=change.label_ids)
            case "message_deleted":
                messages.mark_deleted(tx, account_id, message)
            case "message_added":
                pass

    def _ingest_inbox(self, mailbox: Mailbox, since: datetime) -> tuple[int, frozenset[str]]:
        """Fetch each message again that is in the inbox by the mailbox alone, or by the store alone.

        History had expired, or told of a message while that was being fetched. Returns the number of jobs, and the
        messages that the inbox no longer shows.
        """
        account_id, found, shown = self.account.account_id, 0, set[str]()
        with self.ctx.read() as tx:
            stored = messages.in_inbox(tx, account_id, since=since)
        for refs in self._pages(mailbox, INBOX, since):
            shown.update(ref.message_id for ref in refs)
            found += self._ingest(ref.message_id for ref in refs if ref.message_id not in stored)
        return found + self._ingest(sorted(stored - shown)), stored - shown

    def _ingest(self, message_ids: Iterable[str]) -> int:
        orders = [IngestPayload(account_id=self.account.account_id, message_id=one) for one in message_ids]
        with self.ctx.tx() as tx:
            return len(self.ctx.enqueue(tx, *orders))

    def _ingest_unknown(self, mailbox: Mailbox, label_id: str, since: datetime) -> int:
        found = 0
        for refs in self._pages(mailbox, label_id, since):
            with self.ctx.tx() as tx:
                unknown = set(messages.unknown_of(tx, self.account.account_id, [ref.message_id for ref in refs]))
                wanted = [Ingest(ref.message_id, ref.thread_id) for ref in refs if ref.message_id in unknown]
                found += len(self.ctx.enqueue(tx, *payloads_for(self.account.account_id, wanted)))
        return found

    def _catch_up_labels(self, mailbox: Mailbox) -> int:
        """Enqueue the jobs of labels that a person set while history could not be read, or whose jobs have failed.

        Mail of any age is searched: a label comes off when it was obeyed, so few threads carry one. An order whose
        label was taken off meanwhile is withdrawn.
        """
        account_id = self.account.account_id
        with self.ctx.read() as tx:
            ids = labels.ids_by_role(tx, account_id)
            orders = {ids[role] for role in ORDERING & ids.keys()}
            # Before the search: a label that is put on after it is not missed.
            left = set(emails.ordering_messages(tx, account_id, orders))
        found = 0
        for role, intent in BY_ROLE.items():
            if role not in ids:
                continue
            for refs in self._pages(mailbox, ids[role]):
                threads = dict.fromkeys(ref.thread_id for ref in refs)
                shown = {ref.message_id for ref in refs}
                if role in ORDERING:
                    left -= shown
                with self.ctx.tx() as tx:
                    messages.change_labels(tx, account_id, shown, add=(ids[role],), remove=())
                    wanted = [
                        intent(one)
                        for one in threads
                        if draft_orders.is_new_order(role, emails.get(tx, account_id, one))
                    ]
                    found += len(self.ctx.enqueue(tx, *payloads_for(account_id, wanted)))
        return found + self._withdraw(self._without(mailbox, left, orders), orders)

    def _without(self, mailbox: Mailbox, unseen: Collection[str], orders: Collection[str]) -> set[str]:
        """Ask for each message that a search did not show; returns those that carry no such label.

        A search may lag by days (docs: gmail.md#search). What cannot be asked for now is left for the next full sync.
        """
        left = set[str]()
        for message_id in random.sample(sorted(unseen), min(len(unseen), MOST_ASKED)):
            try:
                carries = bool(mailbox.message_facts(message_id).label_ids.intersection(orders))
            except Gone:
                carries = False
            except (Permanent, Transient):
                break
            if not carries:
                left.add(message_id)
            self.ctx.check()
        return left

    def _withdraw(self, left: Collection[str], orders: Collection[str]) -> int:
        if not left:
            return 0
        account_id = self.account.account_id
        with self.ctx.tx() as tx:
            messages.change_labels(tx, account_id, left, add=(), remove=orders)
            return len(self.ctx.enqueue(tx, *draft_orders.withdraw(tx, account_id, left, orders)))

    def _pages(self, mailbox: Mailbox, label_id: str, since: datetime | None = None) -> Iterable[Sequence[MessageRef]]:
        query = "" if since is None else f"after:{int(since.timestamp())}"
        page_token = None
        while True:
            page = mailbox.search(query, label_ids=[label_id], page=page_token)
            yield page.messages
            if page.next_page is None:
                return
            page_token = page.next_page
            self.ctx.check()


def payloads_for(account_id: UUID, intents: Iterable[Intent], homes: Mapping[str, str] = NO_HOMES) -> list[Payload]:
    """The jobs that intents ask for; `homes` names the thread of record of messages whose draft is looked at."""
    return [payload for intent in intents for payload in _payloads_for(account_id, intent, homes)]


def _payloads_for(account_id: UUID, intent: Intent, homes: Mapping[str, str]) -> Iterator[Payload]:
    match intent:
        case Ingest(message_id=message_id, thread_id=thread_id):
            yield IngestPayload(account_id=account_id, message_id=message_id, thread_id=thread_id)
        case Cleanup(thread_id=thread_id):
            yield CleanupPayload(account_id=account_id, thread_id=thread_id, action="done")
        case Rework(thread_id=thread_id):
            yield ReworkPayload(account_id=account_id, thread_id=thread_id, by_label=True)
        case WriteManual(thread_id=thread_id):
            yield WriteManualPayload(account_id=account_id, thread_id=thread_id, by_label=True)
        case CheckSent(thread_id=thread_id, message_id=message_id):
            # A person who edits a draft's subject moves it to another thread; the record stays where the mail is.
            home = homes.get(message_id, thread_id)
            yield CleanupPayload(account_id=account_id, thread_id=home, action="check_sent", draft_thread_id=thread_id)
        case Sent(message_id=message_id, thread_id=thread_id):
            yield IngestPayload(account_id=account_id, message_id=message_id, thread_id=thread_id)
            yield CleanupPayload(account_id=account_id, thread_id=thread_id, action="check_sent")
