"""The outbound family: mail that leaves, sent once (docs: sending.md#once).

The draft protocol: the draft is made and found again by its token, then sent and found again by its id.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from domain.jobs.effects import CannotTell, Finding, NotFound, Strategy
from domain.jobs.failures import Conflict, Forbidden, Gone, InFlight, Permanent, Throttled, Transient
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
from storage.mail import outgoing_mails
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.outgoing_mails import MailRecord
from storage.postgres.database import Transaction
from tasks.mail.steps.drafts import lost_drafts
from tasks.mail.steps.mailbox_change import discard_draft
from tasks.mail.steps.mailbox_session import OF_MAILBOX, SETTLES_WITHIN, open_mailbox
from tasks.mail.steps.outgoing import outgoing_case, outgoing_drafts, outgoing_files
from tasks.mail.steps.outgoing.outgoing_case import OutgoingCase
from tasks.notifications.senders.drafted_mail import DISCARDED, DISCARDED_CODE, DraftedMail, send_by_draft

SENDING_LIMIT = "gmail.sendingLimit"
READ_BACK_FOR = timedelta(minutes=2)
"""How long the Message-ID of a sent mail is asked for; without it only the next reply's headers are poorer."""
LOOK_AGAIN_AFTER = timedelta(seconds=3)
DRAFT_GONE = "draft_gone"
"""The step that keeps that the draft was seen to be gone."""


@job(
    queue=Queue.CRITICAL,
    retry=NOTIFICATIONS,
    deadline=timedelta(minutes=5),
    providers=("gmail",),
    on_end="action_job_ended",
    finds=dict.fromkeys((outgoing_drafts.DRAFT_KEY, outgoing_drafts.SEND_KEY), outgoing_drafts.find_outgoing),
    **OF_MAILBOX,
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
            mail = _outgoing(ctx, mailbox, case)
            draft = None if mail.record.draft is None else lost_drafts.described(mail.record.draft)
            return _finish(ctx, mailbox, case, send_by_draft(ctx, mail, draft)["sent"])
        except Throttled as limit:
            if limit.code != SENDING_LIMIT:
                raise
            return _wait_for_limit(ctx, case, limit)


@dataclass(frozen=True, slots=True)
class GmailMail(DraftedMail):
    """A mail of an action, by its account's mailbox."""

    sent_as = "sent"
    ctx: JobContext
    mailbox: Mailbox
    case: OutgoingCase
    record: MailRecord
    """What this or an earlier attempt writes down before there is a draft."""
    raw: bytes = b""
    own_addresses: frozenset[str] = frozenset()

    @property
    def _where(self) -> tuple[UUID, UUID]:
        return self.case.account_id, self.record.action_id

    def begin_draft(self, tx: Transaction) -> EffectGuard:
        """Together with the mail and its automatic answers."""
        case, (account_id, action_id) = self.case, self._where
        if outgoing_mails.plan(tx, account_id, self.record) != self.record.token:
            raise Transient("another job has begun the mail of this action", code="outbound.begun")
        if self.own_addresses != frozenset(case.account.own_addresses):
            accounts.save_own_addresses(tx, account_id, tuple(sorted(self.own_addresses)))
        if case.automatic and case.order.message_type == "reply":
            lately = outgoing_mails.reserve_answers(tx, *self._where, addresses_of(case.order), every=ONE_ANSWER_PER)
            if lately:
                days = ONE_ANSWER_PER.days
                raise Forbidden(
                    f"no automatic answer: {len(lately)} of its recipients got one in the last {days} days",
                    code="outbound.answered_lately",
                )
        return self.ctx.begin_effect(tx, f"{outgoing_drafts.DRAFT_KEY}:{action_id}")

    def create_draft(self) -> JsonObject:
        """With the headers that keep it in its thread."""
        return lost_drafts.described(self.mailbox.create_draft(self.raw, thread_id=self.case.thread_id))

    def find_draft(self) -> Finding:
        """By its token. In doubt before it was written down it is only in a ledger that was restored."""
        found = outgoing_drafts.find_draft(self.mailbox, self.record, self.case.thread_id)
        if isinstance(found, NotFound) and self.case.mail is None and self.case.thread_id is None:
            return CannotTell("the ledger was restored, and a mail that answers none is looked for by history alone")
        return found

    def begin_sending(self, draft: JsonObject, tx: Transaction) -> EffectGuard:
        """From here on an automatic answer counts."""
        outgoing_mails.record_draft(tx, *self._where, _draft(draft))
        return self.ctx.begin_effect(tx, f"{outgoing_drafts.SEND_KEY}:{self.record.action_id}")

    def send_draft(self, draft: JsonObject) -> JsonObject:
        """Unless it has waited since an earlier attempt and lies in the trash: Gmail sends it from there."""
        if self.record.draft is not None and self.mailbox.draft(draft["draft_id"]).label_ids & BINS:
            return DISCARDED
        facts = self.mailbox.send_draft(draft["draft_id"])
        return outgoing_drafts.sent(facts.message_id, facts.thread_id)

    def find_sent(self, draft: JsonObject, request: bytes | None) -> Finding:  # noqa: ARG002 - Gmail shows it at once
        """By the draft's id, its thread, and history."""
        return outgoing_drafts.find_sent(self.mailbox, self.record, _draft(draft))

    def record_sent(self, sent: JsonObject, tx: Transaction) -> None:
        """So it stands in the ledger from here on, however the job ends."""
        ctx, action_id = self.ctx, self.record.action_id
        outgoing_mails.record_sent(tx, *self._where, message_id=sent["sent"], thread_id=sent["thread_id"])
        hint = irreversible(self.case.action.kind, sent_message_id=sent["sent"])
        try:
            actions.finish(tx, action_id, ctx.job.job_id, hint, sent_message_id=sent["sent"])
        except Conflict:
            # Written before, when the answer to the commit was lost, or taken away; that the mail has left is written.
            ctx.log.warning("sent_for_another", action_id=str(action_id), sent_message_id=sent["sent"])

    def clear_away(self, draft: JsonObject, refusal: Permanent) -> None:
        """Take the draft back, unless a person has worked on it.

        A draft that is gone may have been sent a moment ago, and is looked for once more: a sent mail can take some
        seconds to appear.
        """
        ctx, draft_id = self.ctx, draft["draft_id"]
        try:
            now = self.mailbox.draft(draft_id)
        except Gone:
            if ctx.kept(DRAFT_GONE) is None:
                ctx.step(DRAFT_GONE, lambda: {"refusal": refusal.code})
                raise InFlight("the draft is gone, and no sent mail is seen yet", wait=SETTLES_WITHIN) from refusal
            reason = f"the draft was discarded before it was sent ({refusal.reason})"
            raise Permanent(reason, code=DISCARDED_CODE) from refusal
        if isinstance(refusal, Gone):
            reason = f"Gmail does not show the draft everywhere yet ({refusal.reason})"
            raise Transient(reason, code=refusal.code) from refusal
        # A person's work gives the draft another message.
        if now.is_draft and now.message_id == draft["message_id"]:
            discard = partial(discard_draft, self.mailbox, draft_id)
            ctx.effect(f"discard:{draft_id}", discard, strategy=Strategy.IDEMPOTENT)


def _draft(kept: JsonObject) -> Draft:
    """The draft that an effect's result names."""
    return Draft(kept["draft_id"], kept["message_id"], kept["thread_id"])


def _outgoing(ctx: JobContext, mailbox: Mailbox, case: OutgoingCase) -> GmailMail:
    """What is to leave, written where it has no draft yet: with the token of an earlier attempt, whose may be there."""
    if case.mail is not None and case.mail.draft is not None:
        return GmailMail(ctx, mailbox, case, case.mail)
    own = mailbox.send_as()
    original = None if case.original is None else case.original.parsed
    files = outgoing_files.of_order(ctx, case.order)
    if case.order.message_type == "forward" and case.original is not None:
        files += outgoing_files.of_original(ctx, mailbox, case.original.message_id)
    mail = case.mail or MailRecord(
        action_id=case.order.action_id,
        token=outgoing_drafts.token_of(case.order.action_id),
        message_type=case.order.message_type,
        automatic=case.automatic,
        history_id=mailbox.profile().history_id,
    )
    message = compose(
        case.order,
        original,
        sender=choose_sender(own, case.account.email, original),
        token=mail.token,
        date=ctx.now(),
        files=files,
        automatic=kind_of(case.order) if case.automatic else None,
    )
    addresses = frozenset(address_key(one.address) for one in own if one.is_verified)
    return GmailMail(ctx, mailbox, case, mail, message_bytes(message), addresses)


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
