"""A run that looks after one thread: read with the message that it is about, and ended by a decision about it."""

from functools import partial
from uuid import UUID

from domain.jobs.failures import Gone, Invalid, Transient
from domain.jobs.job import Done, JsonObject, Outcome
from domain.mail.thread_plan import ThreadBefore
from domain.mail.triage.automation import HUMAN, replies_allowed
from domain.models.agents.ending import Ending, Held, end_run
from domain.models.agents.profile import AgentProfile
from domain.models.agents.prompt import KnownSender, opening
from domain.models.agents.routing import route_message
from domain.models.agents.tools import Offer, offer_of
from domain.payloads.agents import ProcessPayload
from domain.payloads.triage import ClassifyPayload
from engine.context import JobContext
from storage.mail import decisions, emails, messages
from storage.mail.accounts import accounts
from storage.mail.decisions import Origins
from storage.mail.emails import Email
from storage.mail.messages import Message
from storage.models.agents import runs
from storage.models.agents.runs import RunSubject
from storage.models.agents.standing import standing_of
from storage.postgres.database import Transaction
from tasks.mail.steps import action_orders
from tasks.mail.steps.drafts.case import original_of
from tasks.mail.steps.language_model import boundary
from tasks.mail.steps.mailbox_change import open_thread
from tasks.mail.steps.mailbox_session import check_connected
from tasks.models.agent_steps.run import AgentRun, KnownMailbox, Opening, ThreadAtHand, read_mailbox


def read(ctx: JobContext, payload: ProcessPayload) -> AgentRun | Done:
    """Read everything and begin the run in one transaction; `Done` when there is nothing to look after."""
    account_id, message_id = payload.account_id, payload.message_id
    with ctx.tx() as tx:
        try:
            message = messages.get(tx, account_id, message_id)
        except Gone:
            return Done({"gone": True})
        if message.thread_id != payload.thread_id:
            raise Invalid("thread_id", "is not the thread of the message")
        if message.direction == "outgoing":
            return Done({"skipped": "the account's own mail asks nothing of it"})
        decided = decisions.of_message(tx, account_id, message_id, limit=1)
        if decided and decided[0].job_id != ctx.job.job_id:
            return Done({"decided_before": str(decided[0].decision_id)})
        account = accounts.get(tx, account_id)
        check_connected(account)
        stored, standing = standing_of(
            tx, ctx.org_id, account, payload.profile, message_id=message_id, but_job=ctx.job.job_id
        )
        routed = route_message(payload.profile, standing)
        if routed.is_taken:
            return Done({"skipped": routed.reason})
        if stored is None or not routed.to_agent:
            classify = ClassifyPayload(account_id=account_id, message_id=message_id)
            return Done({"classified_instead": routed.reason}, children=(classify.job(org_id=ctx.org_id),))
        thread = messages.of_thread(tx, account_id, message.thread_id)
        own = ThreadAtHand(message, thread, thread[-1].message_id)
        mailbox, sender = read_mailbox(tx, account, message.parsed.from_), _sender(tx, account_id, message)
        begun = runs.begin(tx, ctx.job.job_id, RunSubject(account_id, message.thread_id, message_id), stored)
    profile, word = stored.profile, boundary()
    first = opening(profile, [one.parsed for one in thread], sender, word, guidance=mailbox.guidance)
    return AgentRun(
        begun=begun,
        profile=profile,
        offer=_offer(profile, mailbox, own, sender),
        mailbox=mailbox,
        own=own,
        opening=Opening(first.system, first.text, word, mark=boundary(), newest=own.newest),
        end=partial(_end, mailbox, message),
    )


def _sender(tx: Transaction, account_id: UUID, message: Message) -> KnownSender:
    sender = message.parsed.from_
    asked = messages.known_correspondents(tx, account_id, {sender.key} if sender else (), before=message.received_at)
    known = asked.answer
    return KnownSender(
        automation=message.automation or HUMAN,
        is_known=sender is not None and known.get(sender.key, False),
        first_contact=sender is not None and sender.key not in known,
    )


def _offer(profile: AgentProfile, mailbox: KnownMailbox, own: ThreadAtHand, sender: KnownSender) -> Offer:
    """What the account and the message allow; a draft where it has somebody to go to."""
    try:
        original_of(mailbox.account, own.asked, own.thread)
    except Invalid:
        can_draft = False
    else:
        can_draft = True
    return offer_of(
        profile,
        mailbox.own_labels,
        may_send=mailbox.account.settings.send_allowed,
        may_write=replies_allowed(sender.automation),
        can_draft=can_draft,
    )


def _end(mailbox: KnownMailbox, message: Message, ctx: JobContext, run: AgentRun, held: Held) -> Outcome:
    """Show a person what is theirs now, and decide about the message."""
    account_id = mailbox.account.account_id
    with ctx.read() as tx:
        email = emails.get(tx, account_id, message.thread_id)
    ending = end_run(
        held.finish,
        held.last_word,
        before=email.before if email is not None else ThreadBefore(),
        wanted=tuple(action for _, action in held.wanted),
        safety=mailbox.safety,
    )
    with open_thread(ctx, mailbox.account, message.thread_id, mailbox.label_ids, purpose="end") as thread:
        thread.carry_out_unless_gone(ending.plan)

        def write(tx: Transaction) -> None:
            thread.finish(tx)
            origins = Origins(job_id=ctx.job.job_id, model=run.profile.model)
            wanted, about = ending.actions, message.message_id
            action_orders.record(ctx, tx, account_id, about, ending.decision, checked=wanted, origins=origins)
            _put_record(tx, account_id, message, email, ending)
            run.finish(tx, held, pending_actions=len(wanted))

        return Done(_output(ending, held), writes=write)


def _put_record(tx: Transaction, account_id: UUID, message: Message, email: Email | None, ending: Ending) -> None:
    """Give the thread its record, or settle the one that waits; tried again when it has moved meanwhile."""
    record, thread_id = ending.plan.record, message.thread_id
    if record is None:
        return
    if email is None:
        # Another message's job may have opened one meanwhile; what it says is newer.
        about = message.message_id
        emails.open_email(tx, account_id, thread_id=thread_id, message_id=about, decision=ending.decision, state=record)
    elif not emails.move(tx, account_id, thread_id, expected=email.state, to=record):
        raise Transient("the thread's record has changed since it was read", code="thread.changed")


def _output(ending: Ending, held: Held) -> JsonObject:
    finish = held.finish
    return {
        "status": str(finish.status),
        "reason": finish.reason,
        "stopped_by": None if finish.limit is None else str(finish.limit),
        "turns": len(held.turns),
        "output_preview": ending.preview,
        "pending_actions": len(ending.actions),
    }
