"""Replaces a machine draft by one that its person asked for; never their own text (docs: drafts-by-hand.md#rework).

Gmail has no call that replaces a draft only if nobody has touched it. So the draft is read again right before it is
replaced; what its person saves between these two calls is the one edit that can be lost.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from domain.jobs.effects import CannotTell, Finding, Found
from domain.jobs.failures import Invalid
from domain.jobs.job import Done, JsonObject, NewJob, Outcome, Snooze
from domain.mail.correspondence import EmailEvent, EmailState, LabelRole
from domain.mail.outgoing.senders import SenderWords, sender_of
from domain.mail.replies import draft_fingerprint
from domain.mail.replies.draft_fingerprint import UNKNOWN
from domain.mail.replies.drafting import DraftText, accept_draft, draft_prompt
from domain.mail.replies.instruction import Instruction
from domain.mail.replies.replies import MessageHead, Original, threaded_message
from domain.mail.thread_plan import DraftStanding, ThreadBefore, plan_event, plan_rework
from domain.payloads.drafts import ReworkPayload, WriteManualPayload
from domain.payloads.threads import CleanupPayload
from engine.context import JobContext
from engine.effects import EffectGuard
from storage.mail import emails
from storage.mail.accounts import accounts
from storage.mail.emails import MadeDraft
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.drafts.machine_drafts import ReworkRequest
from tasks.mail.steps.drafts.thread_draft import ThreadDraft
from tasks.mail.steps.language_model import OutOfDate, ask, boundary
from tasks.mail.steps.mailbox_session import check_connected, open_mailbox

WORDS = "rework"
"""The purpose of the model's call, and the step that keeps its answer."""
REWORK_KEY = "rework"
"""The first word of the effect's key; the e-mail's id and the token follow."""
LEFT = "left_to_person"
"""The step that keeps that the label is being taken off, for an attempt that no longer finds it."""
NOT_ASKED = "the thread carries no Rework label"
GONE = "the draft is no longer there"
TOUCHED = "the person has touched the draft since it was read; a new job reads it again"
SUPERSEDED = "the e-mail was moved while its draft was reworked"
OTHER_THREAD = "its job was replayed for another thread"
REWORKED = "the reply is drafted anew"
LOOK_AGAIN_AFTER = timedelta(seconds=30)
"""A person who still writes in the draft is given this time, so that not every pause is paid for."""
ANOTHER_MAY_TAKE = timedelta(minutes=15)
"""Longer than all attempts of a job that is not parked; a rework that was begun earlier has been given up."""


def find_reworked(ctx: JobContext, payload: ReworkPayload, key: str) -> Finding:
    """Ask the mailbox whether a job that has ended replaced the draft (`_begin_effect`).

    Once the record has moved on, the message that was to be replaced is known no more. Then only the token, or a draft
    that is gone, proves anything.
    """
    _, email_id, token = key.split(":")
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
        email = emails.get(tx, payload.account_id, payload.thread_id)
    if email is not None and str(email.email_id) != email_id:
        return CannotTell(OTHER_THREAD)
    if email is None or email.draft_id is None:
        return CannotTell("the thread's record names no draft any more")
    with open_mailbox(ctx, account) as mailbox:
        found = machine_drafts.find_rewritten(mailbox, email.draft_id, token, email.draft_message_id)
    stands = email.draft_token == token and email.state is EmailState.REWORK_REQUESTED
    if stands or (isinstance(found, Found) and "composed" not in found.result):
        return found
    return CannotTell("the thread's record has moved on, and its draft does not carry the rework's token")


def rework_draft(draft: ThreadDraft) -> Outcome:
    """Rework the draft as its person asks, or finish what an earlier attempt began."""
    email = draft.email
    if email.draft_token == _token(draft.ctx):
        return _go_on(draft)
    if email.state is EmailState.REWORK_REQUESTED and draft.ctx.now() - email.state_changed_at < ANOTHER_MAY_TAKE:
        return Snooze(draft.ctx.now() + LOOK_AGAIN_AFTER, "another job reworks the draft")
    if not draft.thread.carries(LabelRole.REWORK) and draft.ctx.kept(LEFT) is None:
        return Done({"reworked": False, "why": NOT_ASKED})
    return _begin(draft)


def _begin(draft: ThreadDraft) -> Outcome:
    """Read what is asked, plan, and do it."""
    email = draft.email
    request = None if email.draft is None else machine_drafts.request(draft.thread.mailbox, email.draft)
    standing = DraftStanding.NONE if request is None else request.standing
    plan = plan_rework(ThreadBefore(email.state, standing), email.rework_count)
    output: JsonObject = {"reworked": False, "why": plan.reason}
    if plan.order_draft:
        return Done(output, children=(_first_draft(draft),))
    if request is None:
        return Done(output, children=(_find_out(draft),))
    if plan.rewrite_draft and request.instruction is not None:
        with draft.ctx.tx() as tx:
            check_connected(accounts.get(tx, email.account_id))
            ours = emails.plan_rework(tx, *draft.where, draft=request.draft, token=_token(draft.ctx))
        return _rewrite(draft, request, request.instruction) if ours else Done({"why": SUPERSEDED})
    draft.ctx.step(LEFT, lambda: {"why": plan.reason})
    draft.thread.carry_out(plan)

    def write(tx: Transaction) -> None:
        draft.thread.finish(tx)
        if plan.record is not None:
            emails.move(tx, *draft.where, expected=email.state, to=plan.record)

    return Done(output, writes=write)


def _go_on(draft: ThreadDraft) -> Outcome:
    """Go on from where an earlier attempt of this job ended: it has stored its token in the record."""
    email = draft.email
    if email.state is EmailState.DRAFTED:
        # Replaced and recorded, and the labels not set.
        draft.thread.carry_out(plan_event(email.before, EmailEvent.DRAFT_WRITTEN, REWORKED))
        return Done({"reworked": True}, writes=draft.thread.finish)
    if email.state is EmailState.REWORK_REQUESTED and email.draft is not None:
        request = machine_drafts.request(draft.thread.mailbox, email.draft)
        as_read = request is not None and request.draft.message_id == email.draft_message_id
        if request is not None and as_read and request.instruction is not None:
            return _rewrite(draft, request, request.instruction)
    return _find_left(draft)


def _rewrite(draft: ThreadDraft, request: ReworkRequest, instruction: Instruction) -> Outcome:
    """Have the model write, and replace the draft once; its person may have touched it since it was read."""
    sender = _sender(draft, request)
    envelope = MessageHead.of_draft(request.message, sender.address)
    try:
        envelope.check()
    except Invalid as refusal:
        return _refused(draft, f"the draft cannot be written again: {refusal.reason}")
    try:
        body = sender.signed(_text(draft, request, instruction, sender).body)
    except OutOfDate:
        # An earlier job's, which this one replays: its person has asked for something else since.
        leave = partial(_leave_touched, draft, request.draft.message_id)
        return Done({"reworked": False, "why": TOUCHED}, writes=leave)
    except Invalid as refusal:
        return _refused(draft, f"no usable rework: {refusal.reason}")
    # Other words under the envelope of the old draft, which its person may have changed.
    original = Original.in_thread(draft.case.asked.parsed)
    raw = threaded_message(envelope, original, body, token=_token(draft.ctx), date=draft.ctx.now())
    draft.thread.prepare(plan_event(draft.email.before, EmailEvent.DRAFT_WRITTEN, REWORKED).labels)
    with draft.ctx.tx() as tx:
        effect = _begin_effect(draft, tx)
    made = effect.carry_out(
        partial(machine_drafts.rewrite, draft.thread.mailbox, request.draft, raw), find=_finder(draft, request)
    )
    return _record_made(draft, effect, made, body)


def _sender(draft: ThreadDraft, request: ReworkRequest) -> SenderWords:
    """Whom the draft comes from: its person may have chosen another address."""
    written = request.message
    if written.from_ is None:
        return draft.sender()
    return sender_of(draft.thread.mailbox.send_as(), written.from_, written.reply_to)


def _text(draft: ThreadDraft, request: ReworkRequest, instruction: Instruction, sender: SenderWords) -> DraftText:
    """The new words; raises `OutOfDate` when they were asked for by another message of the draft."""
    prompt = draft_prompt(
        [one.parsed for one in draft.case.messages],
        boundary(),
        guidance=draft.case.guidance,
        instruction=instruction.text,
        old_draft=sender.unsigned(instruction.words),
        name=sender.name,
    )
    account_id, model = draft.email.account_id, draft.ctx.settings.draft_model
    accept = partial(accept_draft, name=sender.name)
    return ask(draft.ctx, account_id, WORDS, model, prompt, accept, based_on=request.draft.message_id)


def _finder(draft: ThreadDraft, request: ReworkRequest | None) -> Callable[[], Finding]:
    """How to find out whether the draft was replaced."""
    email = draft.email
    if email.draft_id is None:
        return partial(Found, {"gone": True})
    read = email.draft_message_id if request is None else request.draft.message_id
    return partial(machine_drafts.find_rewritten, draft.thread.mailbox, email.draft_id, _token(draft.ctx), read)


def _find_left(draft: ThreadDraft) -> Outcome:
    """Find out about an earlier attempt's call, and make none: the draft is not the one that was to be replaced."""
    email = draft.email
    with draft.ctx.tx() as tx:
        effect = _begin_effect(draft, tx)
    made = effect.look(_finder(draft, None))
    if made is not None and email.state is EmailState.REWORK_REQUESTED:
        draft.thread.prepare(plan_event(email.before, EmailEvent.DRAFT_WRITTEN, REWORKED).labels)
        return _record_made(draft, effect, made, _kept_body(draft))

    def write(tx: Transaction) -> None:
        if email.state is EmailState.REWORK_REQUESTED:
            _look_again(draft, tx)
        if made is None:
            effect.drop(tx)
        else:
            effect.record(tx)
        _back_to_drafted(draft, tx)

    return Done({"reworked": False, "why": SUPERSEDED}, writes=write)


def _kept_body(draft: ThreadDraft) -> str | None:
    """The words that an earlier attempt had from the model; it made no call without any."""
    kept = draft.ctx.kept(WORDS)
    if kept is None:
        return None
    sender = draft.sender()
    return sender.signed(accept_draft(kept["arguments"], sender.name).body)


def _record_made(draft: ThreadDraft, effect: EffectGuard, made: JsonObject, body: str | None) -> Outcome:
    """Record what became of the draft: it was replaced, its person was quicker, or it is gone."""
    if "gone" in made:
        # Sent or thrown away, and not brought back; `threads.cleanup` finds out which.
        return Done({"reworked": False, "why": GONE}, (_find_out(draft),), writes=effect.record)
    if "touched" in made:

        def leave(tx: Transaction) -> None:
            _leave_touched(draft, made["touched"], tx)
            effect.record(tx)

        return Done({"reworked": False, "why": TOUCHED}, writes=leave)
    unknown = "composed" in made or body is None
    words = UNKNOWN if unknown else draft_fingerprint.of_rework(body or "", draft.email.draft_fingerprint or "")
    new = MadeDraft(made["draft_id"], made["message_id"], words)
    if not effect.record_with(partial(_store, draft, new)):
        return Done({"reworked": False, "why": SUPERSEDED})
    draft.thread.apply()
    return Done({"reworked": not unknown}, writes=draft.thread.finish)


def _store(draft: ThreadDraft, made: MadeDraft, tx: Transaction) -> bool:
    """Store the draft in the thread's record and begin the label change; false when the e-mail was moved meanwhile."""
    if emails.record_draft(tx, *draft.where, expected=EmailState.REWORK_REQUESTED, draft=made) is None:
        now = emails.get(tx, *draft.where)
        # When the answer to the commit was lost, the repeated transaction finds the record as it wrote it.
        if now is None or now.state is not EmailState.DRAFTED or now.draft_message_id != made.message_id:
            return False
    draft.thread.begin(tx)
    return True


def _refused(draft: ThreadDraft, why: str) -> Outcome:
    """Leave the draft as it is, and show its person that it needs them."""
    draft.ctx.log.warning("nothing_to_rework", reason=why)
    draft.thread.carry_out(plan_event(draft.email.before, EmailEvent.REWORK_REFUSED, why))

    def write(tx: Transaction) -> None:
        draft.thread.finish(tx)
        _back_to_drafted(draft, tx)

    return Done({"reworked": False, "why": why}, writes=write)


def _back_to_drafted(draft: ThreadDraft, tx: Transaction, *, message_id: str | None = None) -> None:
    """The draft stays as its person has it; `message_id` is its message by now."""
    email = draft.email
    moved = emails.move(tx, *draft.where, expected=EmailState.REWORK_REQUESTED, to=EmailState.DRAFTED)
    if moved and message_id is not None and email.draft_id is not None:
        emails.replace_draft_message(tx, email.account_id, draft_id=email.draft_id, message_id=message_id)


def _leave_touched(draft: ThreadDraft, message_id: str, tx: Transaction) -> None:
    """The draft stays as its person has it, and a new job reads what they ask for by now."""
    _look_again(draft, tx)
    _back_to_drafted(draft, tx, message_id=message_id)


def _token(ctx: JobContext) -> str:
    """The token of the draft that this job makes; the job's own, so that another attempt knows it in the record."""
    return hashlib.sha256(f"rework {ctx.job.job_id}".encode()).hexdigest()[:24]


def _begin_effect(draft: ThreadDraft, tx: Transaction) -> EffectGuard:
    return draft.ctx.begin_effect(tx, f"{REWORK_KEY}:{draft.email.email_id}:{_token(draft.ctx)}")


def _look_again(draft: ThreadDraft, tx: Transaction) -> None:
    """Give the same order to a new job."""
    email = draft.email
    payload = ReworkPayload(account_id=email.account_id, thread_id=email.thread_id, by_label=draft.case.by_label)
    draft.ctx.enqueue(tx, payload, run_at=draft.ctx.now() + LOOK_AGAIN_AFTER)


def _first_draft(draft: ThreadDraft) -> NewJob:
    email = draft.email
    order = WriteManualPayload(account_id=email.account_id, thread_id=email.thread_id, by_label=draft.case.by_label)
    return order.job(org_id=draft.ctx.org_id)


def _find_out(draft: ThreadDraft) -> NewJob:
    account_id, thread_id = draft.where
    look = CleanupPayload(account_id=account_id, thread_id=thread_id, action="check_sent")
    return look.job(org_id=draft.ctx.org_id)
