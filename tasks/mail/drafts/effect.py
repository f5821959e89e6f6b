"""The effect that makes a thread's machine draft, and what is written down of what became of it (docs: mail.md#drafts).

For the drafts family and for agents: the draft's words are theirs, the rules are the same.
"""

from datetime import datetime

from domain.jobs.effects import CannotTell, Finding
from domain.jobs.job import JsonObject, Writes
from domain.mail.correspondence import SETTLED, EmailEvent, EmailState
from domain.mail.replies.draft_fingerprint import UNKNOWN
from domain.mail.replies.lost_draft import LostDraft
from domain.mail.thread_plan import DraftStanding, ThreadBefore, plan_event
from domain.payloads.agents import ProcessPayload
from domain.payloads.drafts import WriteManualPayload, WritePayload
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.accounts import accounts
from storage.mail import emails
from storage.mail.emails import Email, MadeDraft
from storage.postgres.database import Transaction
from tasks.mail import lost_drafts, machine_drafts
from tasks.mail.drafts.case import DraftCase, read_case
from tasks.mail.mailbox_change import OpenThread
from tasks.mail.mailbox_session import open_mailbox

SENT = "the draft was sent"
DISCARDED = "the person has thrown the draft away"
MOVED = "the e-mail was moved while its draft was made"
OTHER_THREAD = "its job was replayed for another thread"


def effect_key(email: Email, token: str) -> str:
    """The key of the effect; the token is its last part."""
    return f"draft:{email.email_id}:{token}"


def sought(case: DraftCase, token: str, since: int | None) -> LostDraft:
    """What is looked for; of a token that an earlier attempt stored, its own history id counts."""
    earlier = case.email.draft_history_id if case.email.draft_token == token else since
    return LostDraft(case.email.thread_id, token, earlier, case.asked.parsed.message_id)


def make(thread: OpenThread, effect: EffectGuard, lost: LostDraft, raw: bytes) -> JsonObject:
    """Make the draft once; returns what `lost_drafts.find` finds."""

    def find() -> Finding:
        return lost_drafts.find(thread.mailbox, lost)

    return effect.carry_out(
        lambda: lost_drafts.described(thread.mailbox.create_draft(raw, thread_id=lost.thread_id)), find
    )


def find_made(ctx: JobContext, payload: WritePayload | WriteManualPayload | ProcessPayload, key: str) -> Finding:
    """Ask the mailbox whether a job that has ended made its draft (`effect_key`).

    A mended replay may name another thread: a draft that stands there would be taken for this one.
    """
    _, email_id, token = key.split(":")
    with ctx.read() as tx:
        account = accounts.reachable(tx, payload.account_id)
        case = read_case(tx, payload.account_id, payload.thread_id)
    if case is not None and str(case.email.email_id) != email_id:
        return CannotTell(OTHER_THREAD)
    lost = LostDraft(payload.thread_id, token) if case is None else sought(case, token, None)
    with open_mailbox(ctx, account) as mailbox:
        return lost_drafts.find(mailbox, lost)


def draft_of(made: JsonObject, fingerprint: str) -> MadeDraft:
    """The draft in the mailbox; one that may have been composed anew counts as a person's, whatever it says."""
    return MadeDraft(made["draft_id"], made["message_id"], UNKNOWN if "composed" in made else fingerprint)


def store(thread: OpenThread, email: Email, draft: MadeDraft, tx: Transaction) -> bool:
    """Store the draft in the thread's record and begin the label change; false when the e-mail is no longer pending.

    The draft is stored then, too, or an attempt after a failed discard would not know of it.
    """
    here, thread_id = email.account_id, email.thread_id
    if emails.record_draft(tx, here, thread_id, expected=EmailState.PENDING, draft=draft) is None:
        now = emails.get(tx, here, thread_id)
        # When the answer to the commit was lost, the repeated transaction finds the record as it wrote it.
        if now is None or now.state is not EmailState.DRAFTED or now.draft_id != draft.draft_id:
            emails.record_late_draft(tx, here, thread_id, draft=draft)
            return False
    thread.begin(tx)
    return True


def take_back(ctx: JobContext, thread: OpenThread, email: Email, draft: MadeDraft) -> Writes | None:
    """Delete a draft that nobody waits for any more, unless a person has worked on it; None when there is no such.

    Returns what is to be written afterwards.
    """
    with ctx.read() as tx:
        now = emails.get(tx, email.account_id, email.thread_id)
    if now is None or now.state not in SETTLED:
        # Reopened since, for which the draft was discarded or left to its person.
        return None
    standing = machine_drafts.standing(thread.mailbox, draft)
    thread.carry_out(plan_event(ThreadBefore(now.state, standing), EmailEvent.DRAFT_WRITTEN, MOVED), draft)

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if standing is not DraftStanding.EDITED:
            emails.forget_draft(tx, email.account_id, email.thread_id)

    return write


def after_sent(ctx: JobContext, thread: OpenThread, case: DraftCase, made: JsonObject) -> Writes:
    """Settle the thread whose draft its person has sent before it was recorded; returns what is to be written.

    A question that came after it was sent is still to be answered.
    """
    email, at = case.email, datetime.fromisoformat(made["sent_at"])
    asked_again = email.state is EmailState.PENDING and case.wants_since(at)
    thread.forget()
    if not asked_again:
        thread.carry_out(plan_event(email.before, EmailEvent.DRAFT_SENT, SENT))
    here, thread_id = email.account_id, email.thread_id

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if asked_again:
            emails.forget_draft(tx, here, thread_id)
            ctx.enqueue(tx, case.again)
            return
        emails.record_sent(tx, here, thread_id, expected=EmailState.PENDING, message_id=made["sent"], at=at)
        if email.state in SETTLED:
            emails.forget_draft(tx, here, thread_id)

    return write


def after_discarded(ctx: JobContext, thread: OpenThread, case: DraftCase) -> Writes:
    """Settle the thread whose draft its person has thrown away before it was recorded; returns what is to be written.

    The draft stays away. A question that came after it was planned gets a draft of its own.
    """
    email, pending = case.email, case.email.state is EmailState.PENDING
    planned_at = email.draft_planned_at
    asked_again = pending and planned_at is not None and case.wants_since(planned_at)
    thread.forget()
    if pending and not asked_again:
        thread.carry_out(plan_event(email.before, EmailEvent.SKIPPED, DISCARDED))
    here, thread_id = email.account_id, email.thread_id

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        emails.forget_draft(tx, here, thread_id)
        if asked_again:
            ctx.enqueue(tx, case.again)
        elif pending:
            emails.move(tx, here, thread_id, expected=EmailState.PENDING, to=EmailState.SKIPPED)

    return write
