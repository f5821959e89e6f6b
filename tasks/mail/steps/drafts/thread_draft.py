"""The effect that makes a thread's machine draft, and what is written down of what became of it (docs: drafts.md).

For the drafts family and for agents: the draft's words are theirs, the rules are the same.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding
from domain.jobs.job import JsonObject, Writes
from domain.mail.correspondence import SETTLED, EmailEvent, EmailState
from domain.mail.mailbox import BINS
from domain.mail.outgoing.senders import SenderWords, choose_sender
from domain.mail.replies.draft_fingerprint import UNKNOWN
from domain.mail.replies.lost_draft import LostDraft
from domain.mail.thread_plan import DraftStanding, ThreadBefore, plan_event
from domain.payloads.agents import InvokePayload, ProcessPayload
from domain.payloads.drafts import WriteManualPayload, WritePayload
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.mail import emails
from storage.mail.accounts import accounts
from storage.mail.emails import Email, MadeDraft
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts import lost_drafts, machine_drafts
from tasks.mail.steps.drafts.case import DraftCase, read_case
from tasks.mail.steps.mailbox_change import OpenThread
from tasks.mail.steps.mailbox_session import open_mailbox

THROWN_AWAY = "the message is in the trash or in spam"
NO_RECORD = "its job was replayed for another mailbox"


class Became(StrEnum):
    """What became of a draft, as its thread's record says why it was settled."""

    MADE = "the reply is drafted"
    SENT = "the draft was sent"
    DISCARDED = "the person has thrown the draft away"
    MOVED = "the e-mail was moved while its draft was made"


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

    def sender(self) -> SenderWords:
        """Whom a reply comes from, as the mailbox has it now."""
        return choose_sender(self.thread.mailbox.send_as(), self.case.account.email, self.case.asked.parsed)

    def is_thrown_away(self) -> bool:
        """Whether the message to answer is in the trash, in spam or gone, as `prepare` has read the thread.

        Of a draft by hand the person knows better. Asked before any draft is made, whoever has written it.
        """
        now = self.thread.labels_of(self.case.asked.message_id)
        return self.email.by_hand_at is None and (now is None or bool(now & BINS))

    def make(self, token: str, raw: bytes, *, newest: str) -> tuple[EffectGuard, JsonObject] | None:
        """Make the draft once; its result, what `_find` finds, is still to be recorded.

        The token and a history id from before the call are committed first, so that a draft whose answer was lost is
        found again. None when the record waits for no draft with this token, or the thread has a newer message.
        """
        thread = self.thread
        with self.ctx.tx() as tx:
            planned = emails.plan_draft(tx, *self.where, token=token, newest=newest, since=thread.history_id)
            if planned != token:
                return None
            effect = self._begin(tx, token)
        made = effect.carry_out(
            lambda: lost_drafts.described(thread.mailbox.create_draft(raw, thread_id=thread.thread_id)),
            partial(self._find, token),
        )
        return effect, made

    def look(self, token: str) -> tuple[EffectGuard, JsonObject | None]:
        """Find out what an earlier attempt made, and make none; the result is still to be recorded, or dropped."""
        with self.ctx.tx() as tx:
            effect = self._begin(tx, token)
        return effect, effect.look(partial(self._find, token))

    def _begin(self, tx: Transaction, token: str) -> EffectGuard:
        return self.ctx.begin_effect(tx, f"draft:{self.email.email_id}:{token}")

    def _find(self, token: str) -> Finding:
        return lost_drafts.find(self.thread.mailbox, _sought(self.case, token, self.thread.history_id))

    def record(self, effect: EffectGuard, made: JsonObject, fingerprint: str) -> Became:
        """Record what the effect came to, and what follows for the thread; its labels are still to be `finish`ed.

        `fingerprint` is that of the words. A draft that nobody waits for any more is taken back.
        """
        if "sent" in made:
            effect.record_with(self._after_sent(made))
            return Became.SENT
        if "discarded" in made:
            effect.record_with(self._after_discarded())
            return Became.DISCARDED
        # One that may have been composed anew counts as a person's, whatever it says.
        new = MadeDraft(made["draft_id"], made["message_id"], UNKNOWN if "composed" in made else fingerprint)
        if effect.record_with(partial(self._store, new)):
            self.thread.apply()
            return Became.MADE
        self.take_back(new)
        return Became.MOVED

    def _store(self, made: MadeDraft, tx: Transaction) -> bool:
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

    def take_back(self, made: MadeDraft) -> None:
        """Delete a draft that nobody waits for any more, unless a person has worked on it."""
        with self.ctx.read() as tx:
            now = emails.get(tx, *self.where)
        if now is None or now.state not in SETTLED:
            # Reopened since, for which the draft was discarded or left to its person.
            return
        standing = machine_drafts.standing(self.thread.mailbox, made)
        plan = plan_event(ThreadBefore(now.state, standing), EmailEvent.DRAFT_WRITTEN, Became.MOVED)
        self.thread.carry_out(plan, made)
        with self.ctx.tx() as tx:
            self.thread.finish(tx)
            if standing is not DraftStanding.EDITED:
                emails.forget_draft(tx, *self.where)

    def _after_sent(self, made: JsonObject) -> Writes:
        """Settle the thread whose draft its person has sent before it was recorded; returns what is to be written.

        A question that came after it was sent is still to be answered.
        """
        email, at = self.email, datetime.fromisoformat(made["sent_at"])
        asked_again = email.state is EmailState.PENDING and self.case.wants_since(at)
        self.thread.forget()
        if not asked_again:
            self.thread.carry_out(plan_event(email.before, EmailEvent.DRAFT_SENT, Became.SENT))

        def write(tx: Transaction) -> None:
            self.thread.finish(tx)
            if asked_again:
                self.ctx.enqueue(tx, self.case.again)
            else:
                emails.record_sent(tx, *self.where, expected=EmailState.PENDING, message_id=made["sent"], at=at)
            if asked_again or email.state in SETTLED:
                emails.forget_draft(tx, *self.where)

        return write

    def _after_discarded(self) -> Writes:
        """Settle the thread whose draft its person has thrown away before it was recorded.

        The draft stays away. A question that came after it was planned gets a draft of its own. Returns what is to be
        written.
        """
        email, pending = self.email, self.email.state is EmailState.PENDING
        planned_at = email.draft_planned_at
        asked_again = pending and planned_at is not None and self.case.wants_since(planned_at)
        self.thread.forget()
        if pending and not asked_again:
            self.thread.carry_out(plan_event(email.before, EmailEvent.SKIPPED, Became.DISCARDED))

        def write(tx: Transaction) -> None:
            self.thread.finish(tx)
            emails.forget_draft(tx, *self.where)
            if asked_again:
                self.ctx.enqueue(tx, self.case.again)
            elif pending:
                emails.move(tx, *self.where, expected=EmailState.PENDING, to=EmailState.SKIPPED)

        return write


def find_made(
    ctx: JobContext, payload: WritePayload | WriteManualPayload | ProcessPayload | InvokePayload, key: str
) -> Finding:
    """Ask the mailbox whether a job that has ended made its draft (`ThreadDraft.make`).

    The record that the key names says in which thread: a payload names none, or after a mended replay another.
    """
    _, email_id, token = key.split(":")
    account_id = payload.account_id
    with ctx.read() as tx:
        thread_id = None if account_id is None else emails.thread_of(tx, account_id, UUID(email_id))
        if account_id is None or thread_id is None:
            return CannotTell(NO_RECORD)
        account = accounts.get(tx, account_id)
        case = read_case(tx, account_id, thread_id)
    lost = LostDraft(thread_id, token) if case is None else _sought(case, token, None)
    with open_mailbox(ctx, account) as mailbox:
        return lost_drafts.find(mailbox, lost)


def _sought(case: DraftCase, token: str, since: int | None) -> LostDraft:
    """What is looked for; of a token that an earlier attempt stored, its own history id counts."""
    earlier = case.email.draft_history_id if case.email.draft_token == token else since
    return LostDraft(case.email.thread_id, token, earlier, case.asked.parsed.message_id)
