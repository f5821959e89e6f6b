"""One run of a mailbox's sync: its history by pages, or all mail of the last days (docs: gmail.md#history)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from domain.jobs.job import JsonObject, Writes
from domain.mail.correspondence import SETTLED, EmailState, LabelRole
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
    next_cursor,
    route,
)
from domain.mail.triage.asking_again import is_due_again
from domain.mail.triage.classification import Classification
from domain.mail.triage.corrections import removals_in
from domain.payloads.drafts import ReworkPayload, WriteManualPayload, WritePayload
from domain.payloads.gmail import IngestPayload
from domain.payloads.payload import Payload
from domain.payloads.threads import CleanupPayload
from domain.payloads.triage import ClassifyPayload
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import cursors, expected_writes, labels
from storage.accounts.accounts import Account
from storage.mail import emails, messages
from storage.mail.emails import Email
from storage.postgres.database import Transaction
from storage.rules import corrections
from tasks.mail.language_model import models_asked

LOOK_BACK = timedelta(days=10)
"""How far a full sync looks (docs: seeds.md#000-periodic); longer when the last one was longer ago."""

MARGIN = timedelta(days=1)

NO_HOMES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt at one mailbox."""

    ctx: JobContext
    account: Account

    def incremental(self, mailbox: Mailbox, cursor: int) -> tuple[JsonObject, Writes]:
        """Follow history from the stored cursor; each page's jobs and the new cursor commit together.

        Returns the report and the writes of the last page, for the transaction that settles the job; they complete the
        report's number of jobs. Raises `Gone` when the cursor is too old.
        """
        report: JsonObject = {"how": "history", "pages": 0, "jobs": 0, "cursor": str(cursor)}
        page_token = None
        while True:
            page = mailbox.history(cursor, page_token)
            stored = next_cursor(int(report["cursor"]), page)
            report["pages"] += 1
            report["cursor"] = str(stored)
            write = partial(self._store_page, report, page, stored)
            if page.next_page is None:
                return report, write
            with self.ctx.tx() as tx:
                write(tx)
            page_token = page.next_page
            self.ctx.check()

    def _store_page(self, report: JsonObject, page: HistoryPage, cursor: int, tx: Transaction) -> None:
        report["jobs"] += len(self.ctx.enqueue(tx, *self._take(tx, page)))
        cursors.advance_cursor(tx, self.account.account_id, cursor)

    def full(self, mailbox: Mailbox, *, by_schedule: bool = False, unknown: int | None = None) -> JsonObject:
        """Search the last days for messages that are not stored as the mailbox has them.

        Where there is no cursor, or history did not know it (`unknown`), the cursor becomes the mailbox's history id.
        That is read first: what comes in meanwhile is in the history after it (the 404 rule). `by_schedule`, what waits
        is looked at less and less often: a message whose classification keeps failing, a thread whose draft Gmail does
        not take, a draft that nobody sends.
        """
        here = self.account.account_id
        profile = mailbox.profile()
        since = self._since()
        found, moved = self._ingest_inbox(mailbox, since)
        found += self._ingest_unknown(mailbox, SENT, since)
        found += self._catch_up_labels(mailbox, since, by_schedule=by_schedule)
        with self.ctx.tx() as tx:
            asked = models_asked(self.ctx.settings).name
            waiting = messages.unclassified(tx, here, since=since, asked=asked)
            missed: list[Intent] = [
                CheckSent(one.thread_id, one.draft_message_id)
                for one in emails.open_drafts(tx, here)
                if self._is_due(one.since, by_schedule=by_schedule)
            ]
            # One that has left the inbox is fetched again first, which orders its classification if it is back there.
            again: list[Payload] = [
                ClassifyPayload(account_id=here, message_id=one.message_id)
                for one in waiting
                if one.message_id not in moved
                and (one.newly_asked or self._is_due(one.received_at, by_schedule=by_schedule))
            ]
            # Their jobs have ended without a draft, or are under way and make it first.
            again += [
                WritePayload(account_id=here, thread_id=one.thread_id, message_id=one.message_id)
                for one in emails.waiting(tx, here, since=since)
                if one.message_id not in moved and self._is_due(one.since, by_schedule=by_schedule)
            ]
            found += len(self.ctx.enqueue(tx, *again, *payloads_for(here, missed)))
            # A cursor that history knows stays: only history tells of a sent draft, and of labels taken off, soon.
            if not cursors.set_first_cursor(tx, here, profile.history_id) and unknown is not None:
                cursors.advance_cursor(tx, here, profile.history_id)
                cursors.replace_cursor(tx, here, profile.history_id, unknown=unknown)
            cursors.mark_full_sync(tx, here, self.ctx.now(), asked=asked)
        return {"how": "full", "jobs": found, "since": since.isoformat(), "history_id": str(profile.history_id)}

    def _is_due(self, since: datetime, *, by_schedule: bool) -> bool:
        last = self.account.full_synced_at
        return not by_schedule or last is None or is_due_again(since, last_look=last, now=self.ctx.now())

    def _take(self, tx: Transaction, page: HistoryPage) -> list[Payload]:
        """Bring the stored messages in line with a page of history, and say which jobs it asks for."""
        here = self.account.account_id
        messages.hold(tx, here, *{change.message_id for change in page.changes})
        for change in page.changes:
            self._mirror(tx, change)
        others = expected_writes.unexpected(tx, here, page.changes)
        corrections.record(tx, here, removals_in(others))
        deleted = [change.message_id for change in page.changes if change.kind == "message_deleted"]
        records = {one: emails.by_draft_message(tx, here, one) for one in deleted}
        homes = {one: email.thread_id for one, email in records.items() if email is not None}
        return payloads_for(here, route(others, labels.roles_by_id(tx, here), frozenset(homes)), homes)

    def _mirror(self, tx: Transaction, change: Change) -> None:
        here, message = self.account.account_id, {change.message_id}
        match change.kind:
            case "labels_added":
                messages.change_labels(tx, here, message, add=change.label_ids, remove=())
            case "labels_removed":
                messages.change_labels(tx, here, message, add=(), remove=change.label_ids)
            case "message_deleted":
                messages.mark_deleted(tx, here, message)
            case "message_added":
                pass

    def _since(self) -> datetime:
        last = self.account.full_synced_at
        usual = self.ctx.now() - LOOK_BACK
        return usual if last is None else min(usual, last - MARGIN)

    def _ingest_inbox(self, mailbox: Mailbox, since: datetime) -> tuple[int, frozenset[str]]:
        """Fetch anew what the inbox shows and the store does not, and what the store shows and the inbox does not.

        History has not told of it: its id had expired, or it told of a message that was being fetched. Returns the
        number of jobs, and the messages that the inbox no longer shows.
        """
        here, found, shown = self.account.account_id, 0, set[str]()
        with self.ctx.tx() as tx:
            stored = messages.in_inbox(tx, here, since=since)
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

    def _catch_up_labels(self, mailbox: Mailbox, since: datetime, *, by_schedule: bool) -> int:
        """Enqueue the jobs of labels that a person set while history could not be read, or whose jobs have failed."""
        here = self.account.account_id
        with self.ctx.tx() as tx:
            ids = labels.ids_by_role(tx, here)
        found = 0
        for role, intent in BY_ROLE.items():
            if role not in ids:
                continue
            for refs in self._pages(mailbox, ids[role], since):
                threads = dict.fromkeys(ref.thread_id for ref in refs)
                with self.ctx.tx() as tx:
                    wanted = [
                        intent(one)
                        for one in threads
                        if self._asks(role, emails.get(tx, here, one), by_schedule=by_schedule)
                    ]
                    found += len(self.ctx.enqueue(tx, *payloads_for(here, wanted)))
        return found

    def _asks(self, role: LabelRole, email: Email | None, *, by_schedule: bool) -> bool:
        if email is not None and waits_by_hand(role, email):
            return self._is_due(email.state_changed_at, by_schedule=by_schedule)
        return asks_anew(role, email)

    def _pages(self, mailbox: Mailbox, label_id: str, since: datetime) -> Iterable[Sequence[MessageRef]]:
        query = f"after:{int(since.timestamp())}"
        page_token = None
        while True:
            page = mailbox.search(query, label_ids=[label_id], page=page_token)
            yield page.messages
            if page.next_page is None:
                return
            page_token = page.next_page
            self.ctx.check()


def asks_anew(role: LabelRole, email: Email | None) -> bool:
    """Whether a label that a thread carries asks for anything: Needs Response shows our own pending records, too."""
    return role is not LabelRole.NEEDS_RESPONSE or email is None or email.state in SETTLED


def waits_by_hand(role: LabelRole, email: Email) -> bool:
    """Whether a person has ordered the draft that the thread's record waits for; `emails.waiting` has the others.

    Its job has ended without a draft, or is under way and makes it first.
    """
    return (
        role is LabelRole.NEEDS_RESPONSE
        and email.state is EmailState.PENDING
        and email.classification is not Classification.NEEDS_RESPONSE
    )


def payloads_for(account_id: UUID, intents: Iterable[Intent], homes: Mapping[str, str] = NO_HOMES) -> list[Payload]:
    """The jobs that intents ask for; `homes` names the thread of record of each draft message."""
    return [payload for intent in intents for payload in _payloads_for(account_id, intent, homes)]


def _payloads_for(account_id: UUID, intent: Intent, homes: Mapping[str, str]) -> Iterator[Payload]:
    match intent:
        case Ingest(message_id=message_id, thread_id=thread_id):
            yield IngestPayload(account_id=account_id, message_id=message_id, thread_id=thread_id)
        case Cleanup(thread_id=thread_id):
            yield CleanupPayload(account_id=account_id, thread_id=thread_id, action="done")
        case Rework(thread_id=thread_id):
            yield ReworkPayload(account_id=account_id, thread_id=thread_id)
        case WriteManual(thread_id=thread_id):
            yield WriteManualPayload(account_id=account_id, thread_id=thread_id)
        case CheckSent(thread_id=thread_id, draft_message_id=message_id):
            # A person who edits a draft's subject moves it to another thread; the record stays where the mail is.
            home = homes.get(message_id, thread_id)
            yield CleanupPayload(account_id=account_id, thread_id=home, action="check_sent", draft_thread_id=thread_id)
        case Sent(message_id=message_id, thread_id=thread_id):
            yield IngestPayload(account_id=account_id, message_id=message_id, thread_id=thread_id)
            yield CleanupPayload(account_id=account_id, thread_id=thread_id, action="check_sent")
