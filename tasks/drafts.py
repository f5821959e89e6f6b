"""The drafts family: one machine draft per thread, written once, in its thread, never over a person's words."""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from domain.jobs.effects import Finding
from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import Cancel, Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PIPELINE
from domain.mail.correspondence import SETTLED, EmailEvent, EmailState, LabelRole
from domain.mail.parsing.parsed_message import Address
from domain.mail.replies.drafting import DraftText, accept_draft, draft_prompt, fingerprint
from domain.mail.replies.replies import Original, reply_message
from domain.mail.thread_plan import DraftStanding, ThreadBefore, plan_event
from domain.mail.triage.prompts import Guidance
from domain.payloads.drafts import WritePayload
from engine.catalogue import job
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.accounts import accounts, labels
from storage.accounts.accounts import Account
from storage.mail import emails, messages, rules
from storage.mail.emails import Email, MadeDraft
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from tasks.mail import machine_drafts
from tasks.mail.language_model import ask, boundary
from tasks.mail.mailbox_session import MAILBOX_AUDITS, open_mailbox
from tasks.mail.thread_handle import ThreadHandle, open_thread

MOVED = "the e-mail was moved while its draft was made"
CHANGED = "the thread has changed while the reply was written; a new job plans again"
NEVER_MADE = "an earlier job's draft was never made; a new job plans again"
ANSWERED = "the person has answered already"
WORDS = "draft"
"""The purpose of the model's call, and the step that keeps its answer."""
UNKNOWN_WORDS = "unknown"
"""The fingerprint of a draft whose words this job never had: equal to none, so they count as a person's."""


def find_made(ctx: JobContext, payload: WritePayload, key: str) -> Finding:
    """Ask the mailbox whether a job that has ended made its draft."""
    with ctx.tx() as tx:
        account = accounts.get(tx, payload.account_id)
    with open_mailbox(ctx, account) as mailbox:
        return machine_drafts.find(mailbox, payload.thread_id, key.rpartition(":")[2])


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    providers=("gmail", "anthropic"),
    audits=MAILBOX_AUDITS,
    finds={"draft": find_made},
)
def write(ctx: JobContext, payload: WritePayload) -> Outcome:
    """Draft a reply to a thread that waits for one: context, model, one Gmail draft, Outbox label."""
    case = _read(ctx, payload.account_id, payload.thread_id)
    if not isinstance(case, Case):
        return case
    with open_thread(ctx, case.account, payload.thread_id, case.label_ids) as thread:
        try:
            return _find_left(ctx, thread, case) if _may_have_left_draft(ctx, case) else _answer(ctx, thread, case)
        except Gone:
            return _skipped(case.email, "the thread is gone")


@dataclass(frozen=True, slots=True)
class Case:
    """All that the ledger knows of a thread that waits for a reply: at least one message, oldest first."""

    account: Account
    email: Email
    messages: tuple[Message, ...]
    guidance: Guidance
    label_ids: dict[LabelRole, str]

    @property
    def asked(self) -> Message:
        """The message to answer: the last that came in."""
        return next((one for one in reversed(self.messages) if one.direction == "incoming"), self.messages[-1])

    @property
    def answered(self) -> bool:
        """Whether the person has written last."""
        return self.messages[-1].direction == "outgoing"

    @property
    def newest(self) -> str:
        """The id of the message that was the thread's last when the case was read."""
        return self.messages[-1].message_id

    @property
    def again(self) -> WritePayload:
        """The same task for a new job, which reads the thread and asks the model anew."""
        here, thread_id = self.email.account_id, self.email.thread_id
        return WritePayload(account_id=here, thread_id=thread_id, message_id=self.asked.message_id)


def _read(ctx: JobContext, here: UUID, thread_id: str) -> Case | Done | Cancel:
    """Read everything in one transaction; an outcome when nobody waits for a draft."""
    with ctx.tx() as tx:
        email = emails.get(tx, here, thread_id)
        thread = messages.of_thread(tx, here, thread_id)
        if email is None or not thread:
            return Cancel("the thread has no record")
        # A draft that an earlier attempt may have left behind is looked for, whatever became of the record since.
        if email.state in SETTLED | {EmailState.REWORK_REQUESTED} and not (email.in_doubt or email.has_late_draft):
            return Done({"skipped": f"the e-mail is {email.state}"})
        return Case(
            account=accounts.get(tx, here),
            email=email,
            messages=thread,
            guidance=rules.guidance(tx, here, thread[-1].parsed.from_),
            label_ids=labels.ids_by_role(tx, here),
        )


def _may_have_left_draft(ctx: JobContext, case: Case) -> bool:
    """Whether an earlier attempt may have left a draft that nobody waits for, or whose words another job had."""
    email = case.email
    if not email.in_doubt:
        return email.has_late_draft
    return case.answered or email.state is not EmailState.PENDING or ctx.kept(WORDS) is None


def _answer(ctx: JobContext, thread: ThreadHandle, case: Case) -> Outcome:
    if case.email.state is EmailState.DRAFTED:
        # An earlier attempt made and recorded the draft, and ended before it set the labels.
        thread.carry_out(plan_event(case.email.before, EmailEvent.DRAFT_WRITTEN, "the reply is drafted"))
        return Done({"drafted": True}, writes=thread.finish)
    if case.answered:
        return _close(ctx, thread, case, EmailEvent.SKIPPED, ANSWERED)
    try:
        original = Original.of(case.asked.parsed)
        body = _text(ctx, case).body
        tried = _make(ctx, thread, case, original, body)
    except Invalid as refusal:
        ctx.log.warning("nothing_to_draft", field=refusal.field, reason=refusal.reason)
        return _close(ctx, thread, case, EmailEvent.REWORKS_EXHAUSTED, f"no usable reply: {refusal.reason}")
    if tried is None:
        return Done({"drafted": False, "why": CHANGED}, children=(case.again.job(org_id=ctx.org_id),))
    effect, made = tried
    if "sent" in made:
        return _sent_already(thread, case.email, effect, made)
    return _record(ctx, thread, case.email, effect, MadeDraft(made["draft_id"], made["message_id"], fingerprint(body)))


def _text(ctx: JobContext, case: Case) -> DraftText:
    """The reply's words, from this or an earlier attempt; `Invalid` when the model's answer cannot be used."""
    prompt = draft_prompt([one.parsed for one in case.messages], boundary(), guidance=case.guidance)
    return accept_draft(ask(ctx, case.account.account_id, WORDS, ctx.settings.draft_model, prompt))


def _make(
    ctx: JobContext, thread: ThreadHandle, case: Case, original: Original, body: str
) -> tuple[EffectGuard, JsonObject] | None:
    """Make the draft once; its result is still to be recorded. None when the thread is not what it was planned on.

    The token is committed before the call, so that a draft whose answer was lost is found again. What the labels need
    to know of the thread is read before, so that the draft's result and the labels' intent can share a transaction.
    """
    here, thread_id = case.account.account_id, case.email.thread_id
    thread.prepare(plan_event(case.email.before, EmailEvent.DRAFT_WRITTEN, "the reply is drafted").labels)
    with ctx.tx() as tx:
        token = emails.plan_draft(tx, here, thread_id, token=secrets.token_urlsafe(18), newest=case.newest)
        if token is None:
            return None
        raw = reply_message(original, Address("", case.account.email), body, token=token, date=ctx.now())
        effect = ctx.begin_effect(tx, _effect_key(case.email, token))
    made = effect.carry_out(
        lambda: machine_drafts.described(thread.mailbox.create_draft(raw, thread_id=thread_id)),
        find=lambda: machine_drafts.find(thread.mailbox, thread_id, token),
    )
    return effect, made


def _effect_key(email: Email, token: str) -> str:
    return f"draft:{email.email_id}:{token}"


def _find_left(ctx: JobContext, thread: ThreadHandle, case: Case) -> Outcome:
    """Find out whether an earlier attempt made the draft, and make none.

    The draft of a pending record is recorded, also when the person has answered since; that of a settled one is taken
    back.
    """
    email = case.email
    if email.draft is not None:
        return _take_back(ctx, thread, email, email.draft)
    token = email.draft_token or ""
    with ctx.tx() as tx:
        effect = ctx.begin_effect(tx, _effect_key(email, token))
    made = effect.look(lambda: machine_drafts.find(thread.mailbox, email.thread_id, token))
    if made is None:
        return _never_made(ctx, thread, case, effect)
    if "sent" in made:
        return _sent_already(thread, email, effect, made)
    if email.state is EmailState.PENDING:
        thread.prepare(plan_event(email.before, EmailEvent.DRAFT_WRITTEN, "the reply is drafted").labels)
    kept = ctx.kept(WORDS)
    words = UNKNOWN_WORDS if kept is None else fingerprint(accept_draft(kept["arguments"]).body)
    return _record(ctx, thread, email, effect, MadeDraft(made["draft_id"], made["message_id"], words))


def _never_made(ctx: JobContext, thread: ThreadHandle, case: Case, effect: EffectGuard) -> Outcome:
    """End without a draft, and forget the token that led to none."""
    email = case.email
    if email.state is not EmailState.PENDING:
        closed = Done({"skipped": f"the e-mail is {email.state}"})
    elif case.answered:
        closed = _close(ctx, thread, case, EmailEvent.SKIPPED, ANSWERED)
    else:
        closed = Done({"drafted": False, "why": NEVER_MADE}, children=(case.again.job(org_id=ctx.org_id),))

    def write(tx: Transaction) -> None:
        effect.drop(tx)
        if closed.writes is not None:
            closed.writes(tx)
        emails.forget_draft(tx, email.account_id, email.thread_id)

    return replace(closed, writes=write)


def _record(ctx: JobContext, thread: ThreadHandle, email: Email, effect: EffectGuard, draft: MadeDraft) -> Outcome:
    """Record the draft and set the labels that show it; take it back when the e-mail has been moved meanwhile."""
    if not effect.record_with(ctx.tx, partial(_store, thread, email, draft)):
        return _take_back(ctx, thread, email, draft)
    thread.apply()
    return Done({"drafted": True}, writes=thread.finish)


def _store(thread: ThreadHandle, email: Email, draft: MadeDraft, tx: Transaction) -> bool:
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


def _take_back(ctx: JobContext, thread: ThreadHandle, email: Email, draft: MadeDraft) -> Outcome:
    """Delete a draft that nobody waits for any more, unless a person has worked on it."""
    with ctx.tx() as tx:
        now = emails.get(tx, email.account_id, email.thread_id)
    output: JsonObject = {"drafted": False, "why": MOVED}
    if now is None or now.state not in SETTLED:
        # Reopened since, for which the draft was discarded or left to its person.
        return Done(output)
    standing = machine_drafts.standing(thread.mailbox, draft)
    thread.carry_out(plan_event(ThreadBefore(now.state, standing), EmailEvent.DRAFT_WRITTEN, MOVED), draft)

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if standing is not DraftStanding.EDITED:
            emails.forget_draft(tx, email.account_id, email.thread_id)

    return Done(output, writes=write)


def _sent_already(thread: ThreadHandle, email: Email, effect: EffectGuard, made: JsonObject) -> Outcome:
    """An earlier attempt made the draft, its record was lost, and the person has sent it since."""
    thread.carry_out(plan_event(email.before, EmailEvent.DRAFT_SENT, "the draft was sent"))
    at = datetime.fromisoformat(made["sent_at"])
    here, thread_id = email.account_id, email.thread_id

    def write(tx: Transaction) -> None:
        effect.record(tx)
        thread.finish(tx)
        emails.record_sent(tx, here, thread_id, expected=EmailState.PENDING, message_id=made["sent"], at=at)
        if email.state in SETTLED:
            emails.forget_draft(tx, here, thread_id)

    return Done({"drafted": True, "sent": made["sent"]}, writes=write)


def _close(ctx: JobContext, thread: ThreadHandle, case: Case, event: EmailEvent, why: str) -> Done:
    """End without a draft: set the labels of the event, and settle the record.

    When the record has moved or a message has come meanwhile, the record stays, and a new job plans again.
    """
    email = case.email
    plan = plan_event(email.before, event, why)
    thread.carry_out(plan)

    def write(tx: Transaction) -> None:
        thread.finish(tx)
        if plan.record is None:
            return
        here, thread_id = email.account_id, email.thread_id
        if not emails.move(tx, here, thread_id, expected=email.state, to=plan.record, newest=case.newest):
            ctx.enqueue(tx, case.again)

    return Done({"drafted": False, "why": plan.reason}, writes=write)


def _skipped(email: Email, why: str) -> Outcome:
    def write(tx: Transaction) -> None:
        emails.move(tx, email.account_id, email.thread_id, expected=email.state, to=EmailState.SKIPPED)

    return Done({"drafted": False, "why": why}, writes=write)
