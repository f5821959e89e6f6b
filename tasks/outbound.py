"""The outbound family: mail that leaves, sent once (docs: sending.md#once).

The draft protocol: the draft is made and found again by its token, then sent and found again by its id.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from domain.jobs.effects import CannotTell, Finding, Found, Strategy
from domain.jobs.failures import (
    CallState,
    Conflict,
    Failure,
    Forbidden,
    Gone,
    InFlight,
    Permanent,
    Throttled,
    Transient,
    Uncertain,
)
from domain.jobs.job import Done, JsonObject, Outcome, Snooze
from domain.jobs.queues import Queue
from domain.jobs.retry import NOTIFICATIONS
from domain.mail.actions.undo_hint import irreversible
from domain.mail.mailbox import BINS, Draft
from domain.mail.outgoing.automatic_answers import ONE_ANSWER_PER, addresses_of, kind_of
from domain.mail.outgoing.composing import compose
from domain.mail.outgoing.outgoing_mail import message_bytes
from domain.mail.outgoing.senders import choose_sender
from domain.payloads.mail_address import address_key
from domain.payloads.outbound import SendPayload
from engine.catalogue import job
from engine.context import JobContext
from engine.effects import EffectGuard
from providers.ports import Mailbox
from storage.accounts import accounts
from storage.actions import actions
from storage.mail import outgoing_mails
from storage.mail.outgoing_mails import MailRecord, Plan
from storage.postgres.database import Transaction
from tasks.mail.drafts import lost_drafts
from tasks.mail.mailbox_change import discard_draft
from tasks.mail.mailbox_session import MAILBOX_AUDITS, SETTLES_WITHIN, hold_mailbox, open_mailbox
from tasks.mail.outgoing import outgoing_case, outgoing_drafts, outgoing_files
from tasks.mail.outgoing.outgoing_case import OutgoingCase

SENDING_LIMIT = "gmail.sendingLimit"
READ_BACK_FOR = timedelta(minutes=2)
"""How long the Message-ID of a sent mail is asked for; without it only the next reply's headers are poorer."""
LOOK_AGAIN_AFTER = timedelta(seconds=3)
DISCARDED = "outbound.draft_discarded"
DRAFT_GONE = "draft_gone"
"""The step that keeps that the draft was seen to be gone."""


@job(
    queue=Queue.CRITICAL,
    retry=NOTIFICATIONS,
    deadline=timedelta(minutes=5),
    providers=("gmail",),
    on_end="action_job_ended",
    audits=MAILBOX_AUDITS,
    holds=hold_mailbox,
    finds=dict.fromkeys((outgoing_drafts.DRAFT_KEY, outgoing_drafts.SEND_KEY), outgoing_drafts.find_outgoing),
)
def send(ctx: JobContext, payload: SendPayload) -> Outcome:
    """Send one mail of an action, once: a reply, a forward or a new mail."""
    case = outgoing_case.read(ctx, payload)
    if not isinstance(case, OutgoingCase):
        return case
    with open_mailbox(ctx, case.account) as mailbox:
        if case.mail is not None and case.mail.sent_message_id is not None:
            return _finish(ctx, mailbox, case, case.mail.sent_message_id)
        try:
            return _finish(ctx, mailbox, case, _leave(ctx, mailbox, case))
        except Throttled as limit:
            if limit.code != SENDING_LIMIT:
                raise
            return _wait_for_limit(ctx, case, limit)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A mail that can be handed over: its bytes, and what is written down before."""

    raw: bytes
    plan: Plan
    own_addresses: tuple[str, ...]


def _leave(ctx: JobContext, mailbox: Mailbox, case: OutgoingCase) -> str:
    """Make the draft and send it; returns the id of the sent mail, from this or an earlier attempt."""
    if case.mail is not None and case.mail.draft is not None:
        with ctx.tx() as tx:
            sending = ctx.begin_effect(tx, _send_key(case))
        return _send(ctx, mailbox, case, case.mail, case.mail.draft, sending)
    prepared = _prepare(ctx, mailbox, case)
    with ctx.tx() as tx:
        making = _begin_draft(ctx, tx, case, prepared)
    mail = MailRecord(
        action_id=case.order.action_id,
        token=prepared.plan.token,
        message_type=prepared.plan.message_type,
        automatic=prepared.plan.automatic,
        history_id=prepared.plan.history_id,
    )
    made = making.carry_out(
        lambda: lost_drafts.described(mailbox.create_draft(prepared.raw, thread_id=case.thread_id)),
        find=lambda: outgoing_drafts.find_draft(mailbox, mail, case.thread_id),
    )
    if "sent" in made:
        # A person has sent the draft whose record was lost.
        making.record_with(partial(_store_sent, ctx, case, made))
        return str(made["sent"])
    _check_kept(making, made)
    draft = Draft(made["draft_id"], made["message_id"], made["thread_id"])
    sending = making.record_with(partial(_begin_sending, ctx, case, draft))
    return _send(ctx, mailbox, case, mail, draft, sending)


def _prepare(ctx: JobContext, mailbox: Mailbox, case: OutgoingCase) -> Prepared:
    """Fetch what goes with the mail, and write it; the same token as an earlier attempt's, whose draft may be there."""
    own = mailbox.send_as()
    original = None if case.original is None else case.original.parsed
    files = outgoing_files.of_order(ctx, case.order)
    if case.order.message_type == "forward" and case.original is not None:
        files += outgoing_files.of_original(ctx, mailbox, case.original.message_id)
    plan = Plan(
        token=case.mail.token if case.mail else secrets.token_urlsafe(18),
        message_type=case.order.message_type,
        automatic=case.automatic,
        history_id=case.mail.history_id if case.mail else mailbox.profile().history_id,
    )
    mail = compose(
        case.order,
        original,
        sender=choose_sender(own, case.account.email, original),
        token=plan.token,
        date=ctx.now(),
        files=files,
        automatic=kind_of(case.order) if case.automatic else None,
    )
    addresses = tuple(sorted({address_key(one.address) for one in own if one.is_verified}))
    return Prepared(message_bytes(mail), plan, addresses)


def _begin_draft(ctx: JobContext, tx: Transaction, case: OutgoingCase, prepared: Prepared) -> EffectGuard:
    """Write down the mail, its automatic answers and the intent of its draft, together."""
    account_id, action_id = case.account_id, case.order.action_id
    if outgoing_mails.plan(tx, account_id, action_id, prepared.plan) != prepared.plan.token:
        raise Transient("another job has begun the mail of this action", code="outbound.begun")
    if frozenset(prepared.own_addresses) != frozenset(case.account.own_addresses):
        accounts.save_own_addresses(tx, account_id, prepared.own_addresses)
    if case.automatic and case.order.message_type == "reply":
        lately = outgoing_mails.reserve_answers(
            tx, account_id, action_id, addresses_of(case.order), every=ONE_ANSWER_PER
        )
        if lately:
            days = ONE_ANSWER_PER.days
            raise Forbidden(
                f"no automatic answer: {len(lately)} of its recipients got one in the last {days} days",
                code="outbound.answered_lately",
            )
    return ctx.begin_effect(tx, f"{outgoing_drafts.DRAFT_KEY}:{action_id}")


def _begin_sending(ctx: JobContext, case: OutgoingCase, draft: Draft, tx: Transaction) -> EffectGuard:
    outgoing_mails.record_draft(tx, case.account_id, case.order.action_id, draft)
    return ctx.begin_effect(tx, _send_key(case))


def _send(
    ctx: JobContext, mailbox: Mailbox, case: OutgoingCase, mail: MailRecord, draft: Draft, sending: EffectGuard
) -> str:
    find = partial(outgoing_drafts.find_sent, mailbox, mail, draft)
    try:
        left = sending.carry_out(partial(_send_draft, mailbox, draft, find, is_new=mail.draft is None), find=find)
    except Uncertain:
        raise
    except Permanent as refusal:
        raise _unsent(ctx, mailbox, draft, refusal) from refusal
    _check_kept(sending, left)
    sending.record_with(partial(_store_sent, ctx, case, left))
    return str(left["sent"])


def _check_kept(effect: EffectGuard, result: JsonObject) -> None:
    """Raise where a person has thrown the draft away, once that is recorded."""
    if "discarded" in result:
        effect.record_alone()
        raise Permanent("the draft was discarded before it was sent", code=DISCARDED)


def _send_draft(mailbox: Mailbox, draft: Draft, find: Callable[[], Finding], *, is_new: bool) -> JsonObject:
    """Send the draft, unless it has waited since an earlier attempt and lies in the trash: Gmail sends it from there.

    Where Gmail refuses, its person may have sent it a moment before: the sent mail is looked for.
    """
    try:
        if not is_new and mailbox.draft(draft.draft_id).label_ids & BINS:
            return outgoing_drafts.DISCARDED
        facts = mailbox.send_draft(draft.draft_id)
    except Permanent as refusal:
        match find():
            case Found(result=left):
                return left
            case CannotTell(reason=reason):
                raise Transient(reason, code=refusal.code, call_state=CallState.IN_DOUBT) from refusal
        raise
    return outgoing_drafts.sent(facts.message_id, facts.thread_id)


def _unsent(ctx: JobContext, mailbox: Mailbox, draft: Draft, refusal: Permanent) -> Failure:
    """What a refusal means of which no sent mail is seen; the draft is taken back unless a person has worked on it.

    A draft that is gone may have been sent a moment ago, and is looked for once more: a sent mail can take some seconds
    to appear.
    """
    try:
        now = mailbox.draft(draft.draft_id)
    except Gone:
        if ctx.kept(DRAFT_GONE) is None:
            ctx.step(DRAFT_GONE, lambda: {"refusal": refusal.code})
            return InFlight("the draft is gone, and no sent mail is seen yet", wait=SETTLES_WITHIN)
        return Permanent(f"the draft was discarded before it was sent ({refusal.reason})", code=DISCARDED)
    if isinstance(refusal, Gone):
        return Transient(f"Gmail does not show the draft everywhere yet ({refusal.reason})", code=refusal.code)
    # A person's work gives the draft another message.
    if now.is_draft and now.message_id == draft.message_id:
        discard = partial(discard_draft, mailbox, draft.draft_id)
        ctx.effect(f"discard:{draft.draft_id}", discard, strategy=Strategy.IDEMPOTENT)
    return refusal


def _store_sent(ctx: JobContext, case: OutgoingCase, left: JsonObject, tx: Transaction) -> None:
    """The mail has left: so it stands in the ledger from here on, however the job ends."""
    account_id, action_id = case.account_id, case.order.action_id
    outgoing_mails.record_sent(tx, account_id, action_id, message_id=left["sent"], thread_id=left["thread_id"])
    hint = irreversible(case.action.kind, sent_message_id=left["sent"])
    try:
        actions.finish(tx, action_id, ctx.job.job_id, hint, sent_message_id=left["sent"])
    except Conflict:
        # Written before, when the answer to the commit was lost, or taken away; that the mail has left stands above.
        ctx.log.warning("sent_for_another", action_id=str(action_id), sent_message_id=left["sent"])


def _finish(ctx: JobContext, mailbox: Mailbox, case: OutgoingCase, sent_message_id: str) -> Outcome:
    """Read back the Message-ID that Gmail gave the mail, which the next reply names (docs: gmail.md#message-id)."""
    output: JsonObject = {"sent_message_id": sent_message_id, "automatic": case.automatic}
    try:
        given = mailbox.message_facts(sent_message_id).headers.get("message-id", "").strip()
    except (Gone, Transient) as failure:
        left_at = case.mail.sent_at if case.mail else None
        if left_at is None or ctx.now() - left_at < READ_BACK_FOR:
            return Snooze(ctx.now() + LOOK_AGAIN_AFTER, "the sent mail cannot be read back yet")
        ctx.log.warning("message_id_unread", sent_message_id=sent_message_id, code=failure.code)
        given = ""
    if not given:
        return Done(output)

    def write(tx: Transaction) -> None:
        outgoing_mails.record_message_id(tx, case.account_id, case.order.action_id, given)

    return Done(output | {"rfc_message_id": given}, writes=write)


def _wait_for_limit(ctx: JobContext, case: OutgoingCase, limit: Throttled) -> Outcome:
    """Let the account send nothing until the time that Gmail gave; it is read on meanwhile."""
    until = ctx.now() + limit.retry_after
    with ctx.tx() as tx:
        outgoing_mails.pause_sending(tx, case.account_id, until)
    ctx.log.warning("sending_limit", account_id=str(case.account_id), until=until.isoformat())
    return Snooze(until, "the mailbox has sent as much as Gmail allows for now")


def _send_key(case: OutgoingCase) -> str:
    return f"{outgoing_drafts.SEND_KEY}:{case.order.action_id}"
