"""The effect that makes a thread's machine draft, and what is written down of what became of it (docs: mail.md#drafts).

For the drafts family and for agents: the draft's words are theirs, the rules are the same.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding
from domain.jobs.job import JsonObject, Writes
from domain.mail.correspondence import SETTLED, EmailEvent, EmailState
from domain.mail.mailbox import BINS
from domain.mail.outgoing.senders import Sender, choose_sender
from domain.mail.replies.draft_fingerprint import UNKNOWN
from domain.mail.replies.lost_draft import LostDraft
from domain.mail.thread_plan import DraftStanding, ThreadBefore, plan_event
from domain.payloads.agents import InvokePayload, ProcessPayload
from domain.payloads.drafts import WriteManualPayload, WritePayload
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.accounts import accounts
from storage.accounts.accounts import Account
from storage.mail import emails
from storage.mail.emails import Email, MadeDraft
from storage.postgres.database import Transaction
from tasks.mail.drafts import lost_drafts, machine_drafts
from tasks.mail.drafts.case import DraftCase, read_case
from tasks.mail.mailbox_change import OpenThread
from tasks.mail.mailbox_session import open_mailbox

SENT = "the draft was sent"
THROWN_AWAY = "the message is in the trash or in spam"
DISCARDED = "the person has thrown the draft away"
MOVED = "the e-mail was moved while its draft was made"
OTHER_THREAD = "its job was replayed for another thread"
NO_RECORD = "its job was replayed for another mailbox"


@dataclass(frozen=True, slots=True)
class ThreadDraft:
    """The machine draft of a thread that a job has open."""

    ctx: JobContext
    thread: OpenThread
    case: DraftCase

    @property
    def email(self) -> Email:
        """The thread's record."""
        return self.case.email

    @property
    def where(self) -> tuple[UUID, str]:
        """What names the record: its account and its thread."""
        return self.thread.where

    def sender(self) -> Sender:
        """Whom a reply comes from, as the mailbox has it now."""
        return choose_sender(self.thread.mailbox.send_as(), self.case.account.email, self.case.asked.parsed)

    def is_thrown_away(self) -> bool:
        """Whether the message to answer is in the trash, in spam or gone, as `prepare` has read the thread.

        Of a draft by hand the person knows better. Asked before any draft is made, whoever has written it.
        """
        now = self.thread.labels_of(self.case.asked.message_id)
        return self.email.by_hand_at is None and (now is None or bool(now & BINS))

    def begin(self, tx: Transaction, token: str) -> EffectGuard:
        """Begin the effect; the token is the last part of its key."""
        return self.ctx.begin_effect(tx, f"draft:{self.email.email_id}:{token}")

    def find(self, token: str) -> Finding:
        """Look for the draft with this token, as `lost_drafts.find`."""
        return lost_drafts.find(self.thread.mailbox, _sought(self.case, token, self.thread.history_id))

    def make(self, effect: EffectGuard, token: str, raw: bytes) -> JsonObject:
        """Make the draft once; returns what `find` finds."""
        thread_id, mailbox = self.email.thread_id, self.thread.mailbox
        return effect.carry_out(
            lambda: lost_drafts.described(mailbox.create_draft(raw, thread_id=thread_id)), partial(self.find, token)
        )

    def store(self, made: MadeDraft, tx: Transaction) -> bool:
        """Store the draft in the record and begin the label change; false when the e-mail is no longer pending.

        The draft is stored then, too, or an attempt after a failed discard would not know of it.
        """
        if emails.record_draft(tx, *self.where, expected=EmailState.PENDING, draft=made) is None:
            now = emails.get(tx, *self.where)
            # When the answer to the commit was lost, the repeated transaction finds the record as it wrote it.
            if now is None or now.state is not EmailState.DRAFTED or now.draft_id != made.draft_id:
                emails.record_late_draft(tx, *self.where, draft=made)
                return False
        self.thread.begin(tx)
        return True

    def take_back(self, made: MadeDraft) -> Writes | None:
        """Delete a draft that nobody waits for any more, unless a person has worked on it.

        Returns what is to be written afterwards; None when there is no such draft.
        """
        with self.ctx.read() as tx:
            now = emails.get(tx, *self.where)
        if now is None or now.state not in SETTLED:
            # Reopened since, for which the draft was discarded or left to its person.
            return None
        standing = machine_drafts.standing(self.thread.mailbox, made)
        self.thread.carry_out(plan_event(ThreadBefore(now.state, standing), EmailEvent.DRAFT_WRITTEN, MOVED), made)

        def write(tx: Transaction) -> None:
            self.thread.finish(tx)
            if standing is not DraftStanding.EDITED:
                emails.forget_draft(tx, *self.where)

        return write

    def after_sent(self, made: JsonObject) -> Writes:
        """Settle the thread whose draft its person has sent before it was recorded; returns what is to be written.

        A question that came after it was sent is still to be answered.
        """
        email, at = self.email, datetime.fromisoformat(made["sent_at"])
        asked_again = email.state is EmailState.PENDING and self.case.wants_since(at)
        self.thread.forget()
        if not asked_again:
            self.thread.carry_out(plan_event(email.before, EmailEvent.DRAFT_SENT, SENT))

        def write(tx: Transaction) -> None:
            self.thread.finish(tx)
            if asked_again:
                self.ctx.enqueue(tx, self.case.again)
            else:
                emails.record_sent(tx, *self.where, expected=EmailState.PENDING, message_id=made["sent"], at=at)
            if asked_again or email.state in SETTLED:
                emails.forget_draft(tx, *self.where)

        return write

    def after_discarded(self) -> Writes:
        """Settle the thread whose draft its person has thrown away before it was recorded.

        The draft stays away. A question that came after it was planned gets a draft of its own. Returns what is to be
        written.
        """
        email, pending = self.email, self.email.state is EmailState.PENDING
        planned_at = email.draft_planned_at
        asked_again = pending and planned_at is not None and self.case.wants_since(planned_at)
        self.thread.forget()
        if pending and not asked_again:
            self.thread.carry_out(plan_event(email.before, EmailEvent.SKIPPED, DISCARDED))

        def write(tx: Transaction) -> None:
            self.thread.finish(tx)
            emails.forget_draft(tx, *self.where)
            if asked_again:
                self.ctx.enqueue(tx, self.case.again)
            elif pending:
                emails.move(tx, *self.where, expected=EmailState.PENDING, to=EmailState.SKIPPED)

        return write


def find_made(ctx: JobContext, payload: WritePayload | WriteManualPayload | ProcessPayload, key: str) -> Finding:
    """Ask the mailbox whether a job that has ended made its draft (`ThreadDraft.begin`).

    A mended replay may name another thread: a draft that is there would be taken for this one.
    """
    _, email_id, token = key.split(":")
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
        case = read_case(tx, payload.account_id, payload.thread_id)
    if case is not None and str(case.email.email_id) != email_id:
        return CannotTell(OTHER_THREAD)
    return _find_lost(ctx, account, LostDraft(payload.thread_id, token) if case is None else _sought(case, token, None))


def find_draft(ctx: JobContext, payload: InvokePayload, key: str) -> Finding:
    """As `find_made`, for a job whose payload names no thread: the record that the key names has it."""
    _, email_id, token = key.split(":")
    with ctx.read() as tx:
        account_id = payload.account_id
        thread_id = None if account_id is None else emails.thread_of(tx, account_id, UUID(email_id))
        if account_id is None or thread_id is None:
            return CannotTell(NO_RECORD)
        account = accounts.get(tx, account_id)
        case = read_case(tx, account_id, thread_id)
    return _find_lost(ctx, account, LostDraft(thread_id, token) if case is None else _sought(case, token, None))


def _find_lost(ctx: JobContext, account: Account, lost: LostDraft) -> Finding:
    with open_mailbox(ctx, account) as mailbox:
        return lost_drafts.find(mailbox, lost)


def draft_of(made: JsonObject, fingerprint: str) -> MadeDraft:
    """The draft in the mailbox; one that may have been composed anew counts as a person's, whatever it says."""
    return MadeDraft(made["draft_id"], made["message_id"], UNKNOWN if "composed" in made else fingerprint)


def _sought(case: DraftCase, token: str, since: int | None) -> LostDraft:
    """What is looked for; of a token that an earlier attempt stored, its own history id counts."""
    earlier = case.email.draft_history_id if case.email.draft_token == token else since
    return LostDraft(case.email.thread_id, token, earlier, case.asked.parsed.message_id)
