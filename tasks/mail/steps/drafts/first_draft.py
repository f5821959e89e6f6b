"""Writes the draft of a thread that waits for one, once; what an earlier attempt may have left is found first.

For every job that drafts: the classification's, and the one that a person orders by hand.
"""

import secrets
from dataclasses import replace
from functools import partial

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import Done, JsonObject, Outcome
from domain.mail.correspondence import EmailEvent, EmailState
from domain.mail.replies import draft_fingerprint
from domain.mail.replies.draft_fingerprint import UNKNOWN
from domain.mail.replies.drafting import DraftText, accept_draft, draft_prompt
from domain.mail.replies.replies import MessageHead, Original, reply_message
from domain.mail.thread_plan import SHOWN, plan_event
from domain.payloads.threads import CleanupPayload
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.mail import emails
from storage.mail.emails import Email
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts.case import DraftCase
from tasks.mail.steps.drafts.thread_draft import THROWN_AWAY, Became, ThreadDraft
from tasks.mail.steps.language_model import OutOfDate, ask, boundary, is_based_on

CHANGED = "the thread has changed while the reply was written; a new job plans again"
NEVER_MADE = "an earlier job's draft was never made; a new job plans again"
ANSWERED = "the person has answered already"
WORDS = "draft"
"""The purpose of the model's call, and the step that keeps its answer."""


def write_draft(draft: ThreadDraft) -> Outcome:
    """Draft the reply, or finish what an earlier attempt began."""
    try:
        return _find_left(draft) if _may_have_left_draft(draft.ctx, draft.case) else _answer(draft)
    except Gone:
        return skipped(draft.email, "the thread is gone")


def _may_have_left_draft(ctx: JobContext, case: DraftCase) -> bool:
    """Whether an earlier attempt may have left a draft that nobody waits for, or with other words than this job's.

    The words are another job's, or of before the thread's newest message.
    """
    email = case.email
    if not email.in_doubt:
        return email.has_late_draft
    if case.answered or case.thrown_away or email.state is not EmailState.PENDING:
        return True
    kept = ctx.kept(WORDS)
    return kept is None or not is_based_on(kept, case.newest)


def _answer(draft: ThreadDraft) -> Outcome:
    case = draft.case
    if case.email.state is EmailState.DRAFTED:
        return _show(draft)
    if case.answered:
        return _close(draft, EmailEvent.SKIPPED, ANSWERED)
    if case.thrown_away:
        return _close(draft, EmailEvent.SKIPPED, THROWN_AWAY)
    try:
        original = case.original
    except Invalid as refusal:
        return _give_up(draft, f"a person has to answer: {refusal.reason}")
    return _write_anew(draft, original)


def _write_anew(draft: ThreadDraft, original: Original) -> Outcome:
    """Have the model write the reply, and make the draft."""
    ctx, case = draft.ctx, draft.case
    sender = draft.sender()
    try:
        body = sender.signed(_text(ctx, case, sender.name).body)
    except OutOfDate:
        return _plan_again(draft)
    except Invalid as refusal:
        return _give_up(draft, f"no usable reply: {refusal.reason}")
    draft.thread.prepare(plan_event(case.email.before, EmailEvent.DRAFT_WRITTEN, Became.MADE).labels)
    if draft.is_thrown_away():
        if case.email.in_doubt:
            return _find_left(draft)
        return _close(draft, EmailEvent.SKIPPED, THROWN_AWAY)
    token = case.email.draft_token or secrets.token_urlsafe(18)
    raw = reply_message(original, sender, body, token=token, date=ctx.now())
    tried = draft.make(token, raw, newest=case.newest)
    if tried is None:
        return _plan_again(draft)
    return _record_made(draft, *tried, draft_fingerprint.of_made(body, MessageHead.of_reply(original, sender)))


def _plan_again(draft: ThreadDraft) -> Done:
    again = draft.case.again.job(org_id=draft.ctx.org_id)
    return Done({"drafted": False, "why": CHANGED}, children=(again,))


def _give_up(draft: ThreadDraft, why: str) -> Done:
    draft.ctx.log.warning("nothing_to_draft", reason=why)
    return _close(draft, EmailEvent.REWORKS_EXHAUSTED, why)


def _show(draft: ThreadDraft) -> Outcome:
    """Show a draft that is recorded: by an earlier attempt, which ended before it set the labels, or by another job.

    Another job's draft may have been asked to be reworked since; that order stays.
    """
    ours = draft.ctx.kept(WORDS) is not None
    written = plan_event(draft.email.before, EmailEvent.DRAFT_WRITTEN, Became.MADE)
    draft.thread.carry_out(written if ours else replace(written, labels=SHOWN))
    return Done({"drafted": True}, writes=draft.thread.finish)


def _text(ctx: JobContext, case: DraftCase, name: str) -> DraftText:
    """The reply's words, from this or an earlier attempt.

    Raises `Invalid` when the model's answer cannot be used, and `OutOfDate` when the words are of before the thread's
    newest message.
    """
    thread = [one.parsed for one in case.messages]
    prompt = draft_prompt(thread, boundary(), guidance=case.guidance, voice=case.voice, name=name)
    account_id, model = case.account.account_id, ctx.settings.draft_model
    return ask(ctx, account_id, WORDS, model, prompt, partial(accept_draft, name=name), based_on=case.newest)


def _find_left(draft: ThreadDraft) -> Outcome:
    """Find out whether an earlier attempt made the draft, and make none.

    The draft of a pending record is recorded, also when the person has answered since; that of a settled one is taken
    back.
    """
    email = draft.email
    if email.draft is not None:
        draft.take_back(email.draft)
        return Done({"drafted": False, "why": Became.MOVED})
    effect, made = draft.look(email.draft_token or "")
    if made is None:
        return _never_made(draft, effect)
    if "draft_id" in made and email.state is EmailState.PENDING:
        draft.thread.prepare(plan_event(email.before, EmailEvent.DRAFT_WRITTEN, Became.MADE).labels)
    return _record_made(draft, effect, made, _kept_fingerprint(draft))


def _kept_fingerprint(draft: ThreadDraft) -> str:
    """The fingerprint of the words that this job has, if it was its attempt that asked for them."""
    kept = draft.ctx.kept(WORDS)
    if kept is None:
        return UNKNOWN
    sender = draft.sender()
    try:
        body = sender.signed(accept_draft(kept["arguments"], sender.name).body)
        return draft_fingerprint.of_made(body, MessageHead.of_reply(draft.case.original, sender))
    except Invalid:
        return UNKNOWN


def _record_made(draft: ThreadDraft, effect: EffectGuard, made: JsonObject, fingerprint: str) -> Outcome:
    """Record what became of the draft: it is in the mailbox, was sent, or was thrown away."""
    became = draft.record(effect, made, fingerprint)
    if became is Became.SENT:
        return Done({"drafted": True, "sent": made["sent"]})
    if became is not Became.MADE:
        return Done({"drafted": False, "why": became})
    # `threads.cleanup` takes it back where its message was thrown away meanwhile.
    where = {"account_id": draft.email.account_id, "thread_id": draft.email.thread_id}
    look = CleanupPayload(**where, action="check_sent").job(org_id=draft.ctx.org_id)
    children = (look,) if draft.is_thrown_away() else ()
    return Done({"drafted": True}, children, writes=draft.thread.finish)


def _never_made(draft: ThreadDraft, effect: EffectGuard) -> Outcome:
    """End without a draft, and forget the token that led to none."""
    case, email = draft.case, draft.email
    if email.state is not EmailState.PENDING:
        closed = Done({"skipped": f"the e-mail is {email.state}"})
    elif case.answered:
        closed = _close(draft, EmailEvent.SKIPPED, ANSWERED)
    else:
        closed = Done({"drafted": False, "why": NEVER_MADE}, children=(case.again.job(org_id=draft.ctx.org_id),))

    def write(tx: Transaction) -> None:
        effect.drop(tx)
        if closed.writes is not None:
            closed.writes(tx)
        emails.forget_draft(tx, *draft.where)

    return replace(closed, writes=write)


def _close(draft: ThreadDraft, event: EmailEvent, why: str) -> Done:
    """End without a draft: set the labels of the event, and settle the record.

    When the record has moved or a message has come meanwhile, the record stays, and a new job plans again.
    """
    case, email = draft.case, draft.email
    plan = plan_event(email.before, event, why)
    draft.thread.carry_out(plan)

    def write(tx: Transaction) -> None:
        draft.thread.finish(tx)
        if plan.record is not None and not emails.move(
            tx, *draft.where, expected=email.state, to=plan.record, newest=case.newest
        ):
            draft.ctx.enqueue(tx, case.again)

    return Done({"drafted": False, "why": plan.reason}, writes=write)


def skipped(email: Email, why: str) -> Outcome:
    """End without a draft, and settle the record of a thread that is gone."""

    def write(tx: Transaction) -> None:
        emails.move(tx, email.account_id, email.thread_id, expected=email.state, to=EmailState.SKIPPED)

    return Done({"drafted": False, "why": why}, writes=write)
