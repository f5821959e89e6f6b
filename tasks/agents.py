"""The agents family: a profile's model looks after one thread, or does what it is asked, with tools and limits."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from domain.agents.ending import Ending, end_run
from domain.agents.loop import Finish
from domain.agents.prompt import FirstTurn, Sender, opening
from domain.agents.routing import route_message
from domain.agents.tools import Offer, offer_of
from domain.agents.transcript import ToolResult, Turn
from domain.jobs.failures import Gone, Invalid, Transient
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PATIENT, PIPELINE
from domain.mail.actions.requested_action import RequestedAction, parse_action
from domain.mail.correspondence import LabelRole
from domain.mail.thread_plan import ThreadBefore
from domain.mail.triage.automation import HUMAN, replies_allowed
from domain.mail.triage.prompts import Guidance
from domain.mail.triage.safety import SafetyEnforcer
from domain.payloads.agents import InvokePayload, ProcessPayload
from domain.payloads.triage import ClassifyPayload
from engine.catalogue import job
from engine.context import JobContext
from storage.accounts import accounts, labels
from storage.accounts.accounts import Account
from storage.accounts.labels import StoredLabel
from storage.agents import runs
from storage.agents.profiles import StoredProfile
from storage.agents.runs import BegunRun, RunSubject
from storage.mail import decisions, emails, messages
from storage.mail.decisions import Origins
from storage.mail.emails import Email
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from storage.rules import rules, safety
from tasks.mail import action_orders
from tasks.mail.agents import invocation
from tasks.mail.agents.conversation import Script, counted, hold, last_word, results_of
from tasks.mail.agents.standing import standing_of
from tasks.mail.agents.tools import ThreadTools, Workplace
from tasks.mail.drafts.case import original_of
from tasks.mail.drafts.thread_draft import find_made
from tasks.mail.language_model import boundary
from tasks.mail.mailbox_change import open_thread
from tasks.mail.mailbox_session import MAILBOX_AUDITS, check_connected, hold_mailbox


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=10),
    providers=("gmail", "anthropic"),
    on_end="agent_run_ended",
    audits=MAILBOX_AUDITS,
    holds=hold_mailbox,
    finds={"draft": find_made},
)
def process(ctx: JobContext, payload: ProcessPayload) -> Outcome:
    """Let an agent look after a thread: search, read, label, archive, draft, ask to reply, or call a person."""
    case = _read(ctx, payload)
    if isinstance(case, Done):
        return case
    with counted(ctx, case.run):
        place, script = _set_up(ctx, case)
        turns, finish = hold(ctx, script, case.run, ThreadTools(ctx, place).carry_out)
        return _end(ctx, case, turns, finish)


@job(
    queue=Queue.DEFAULT,
    retry=PATIENT,
    deadline=timedelta(minutes=10),
    providers=("gmail", "anthropic"),
    on_end="agent_run_ended",
    audits=MAILBOX_AUDITS,
    holds=hold_mailbox,
    finds={"draft": find_made},
)
def invoke(ctx: JobContext, payload: InvokePayload) -> Outcome:
    """Let an agent do what a schedule, a workflow or a service asks; a run that fails or is stopped fails the job."""
    case = invocation.read(ctx, payload)
    with counted(ctx, case.run):
        script, carry_out = invocation.set_up(ctx, case)
        turns, finish = hold(ctx, script, case.run, carry_out)
        return invocation.end(ctx, case, turns, finish)


@dataclass(frozen=True, slots=True)
class AgentCase:
    """All that is known of a message that an agent is to look after, and the run that looks after it."""

    account: Account
    message: Message
    thread: tuple[Message, ...]
    stored: StoredProfile
    run: BegunRun
    labels: tuple[StoredLabel, ...]
    email: Email | None
    guidance: Guidance
    safety: SafetyEnforcer
    sender: Sender

    @property
    def label_ids(self) -> dict[LabelRole, str]:
        """The ids of our labels."""
        return labels.by_role(self.labels)


def _read(ctx: JobContext, payload: ProcessPayload) -> AgentCase | Done:
    """Read everything and begin the run in one transaction; `Done` when there is nothing to look after."""
    account_id = payload.account_id
    with ctx.tx() as tx:
        try:
            message = messages.get(tx, account_id, payload.message_id)
        except Gone:
            return Done({"gone": True})
        if message.thread_id != payload.thread_id:
            raise Invalid("thread_id", "is not the thread of the message")
        if message.direction == "outgoing":
            return Done({"skipped": "the account's own mail asks nothing of it"})
        decided = decisions.of_message(tx, account_id, payload.message_id, limit=1)
        if decided and decided[0].job_id != ctx.job.job_id:
            return Done({"decided_before": str(decided[0].decision_id)})
        account = accounts.get(tx, account_id)
        check_connected(account)
        stored, standing = standing_of(tx, account, payload.message_id, payload.profile, but_job=ctx.job.job_id)
        routed = route_message(payload.profile, standing)
        if routed.is_taken:
            return Done({"skipped": routed.reason})
        if stored is None or not routed.to_agent:
            return _classify_instead(ctx, payload, routed.reason)
        return AgentCase(
            account=account,
            message=message,
            thread=messages.of_thread(tx, account_id, message.thread_id),
            stored=stored,
            run=runs.begin(tx, ctx.job.job_id, RunSubject(account_id, message.thread_id, message.message_id), stored),
            labels=labels.list_all(tx, account_id),
            email=emails.get(tx, account_id, message.thread_id),
            guidance=rules.guidance(tx, account_id, message.parsed.from_),
            safety=SafetyEnforcer(safety.of_account(tx, account_id)),
            sender=_sender(tx, account_id, message),
        )


def _classify_instead(ctx: JobContext, payload: ProcessPayload, why: str) -> Done:
    classify = ClassifyPayload(account_id=payload.account_id, message_id=payload.message_id)
    return Done({"classified_instead": why}, children=(classify.job(org_id=ctx.org_id),))


def _sender(tx: Transaction, account_id: UUID, message: Message) -> Sender:
    sender = message.parsed.from_
    known = messages.known_correspondents(tx, account_id, {sender.key} if sender else (), before=message.received_at)
    return Sender(
        automation=message.automation or HUMAN,
        is_known=sender is not None and known.get(sender.key, False),
        first_contact=sender is not None and sender.key not in known,
    )


def _set_up(ctx: JobContext, case: AgentCase) -> tuple[Workplace, Script]:
    """What the conversation is held with. It is kept: an attempt after a crash goes on with the same words."""
    profile = case.stored.profile
    made = ctx.step("agent_opening", lambda: _opening(case, boundary(), secret=boundary()))
    offer = _offer(case)
    script = Script(case.account.account_id, profile, offer, FirstTurn(made["system"], made["text"]))
    place = Workplace(
        account=case.account,
        message=case.message,
        thread=case.thread,
        newest=made.get("newest", case.thread[-1].message_id),
        label_ids=case.label_ids,
        boundary=made["boundary"],
        secret=made["mark"],
        offer=offer,
        safety=case.safety,
    )
    return place, script


def _opening(case: AgentCase, word: str, *, secret: str) -> JsonObject:
    begun = opening(
        case.stored.profile,
        [one.parsed for one in case.thread],
        case.sender,
        word,
        guidance=case.guidance,
    )
    # A later attempt goes on with these words, and the thread may have grown by then.
    newest = case.thread[-1].message_id
    return {"system": begun.system, "text": begun.text, "boundary": word, "mark": secret, "newest": newest}


def _offer(case: AgentCase) -> Offer:
    return offer_of(
        case.stored.profile,
        labels.of_person(case.labels),
        may_send=case.account.settings.send_allowed,
        may_write=replies_allowed(case.sender.automation),
        can_draft=_can_be_answered(case),
    )


def _can_be_answered(case: AgentCase) -> bool:
    """Whether a draft has somebody to go to; a model that is offered none pays for no words in vain."""
    asked = next((one for one in reversed(case.thread) if one.direction == "incoming"), case.message)
    try:
        original_of(case.account, asked, case.thread)
    except Invalid:
        return False
    return True


def _end(ctx: JobContext, case: AgentCase, turns: tuple[Turn, ...], finish: Finish) -> Outcome:
    """Show a person what is theirs now, and write all that the run came to together with its settlement."""
    account_id, message = case.account.account_id, case.message
    with ctx.read() as tx:
        email = emails.get(tx, account_id, message.thread_id)
    before = email.before if email is not None else ThreadBefore()
    results = results_of(turns)
    ending = end_run(
        finish,
        last_word(turns),
        before=before,
        wanted=_wanted(results),
        safety=case.safety,
    )
    with open_thread(ctx, case.account, message.thread_id, case.label_ids, purpose="end") as thread:
        thread.carry_out_unless_gone(ending.plan)

        def write(tx: Transaction) -> None:
            thread.finish(tx)
            origins = Origins(job_id=ctx.job.job_id, model=case.stored.profile.model)
            action_orders.record(
                ctx, tx, account_id, message.message_id, ending.decision, checked=ending.actions, origins=origins
            )
            _put_record(tx, case, email, ending)
            runs.finish(
                tx,
                case.run.run_id,
                finish,
                turns,
                preview=ending.preview,
                pending_actions=len(ending.actions),
            )

        return Done(_output(ending, turns), writes=write)


def _put_record(tx: Transaction, case: AgentCase, email: Email | None, ending: Ending) -> None:
    """Give the thread its record, or settle the one that waits; tried again when it has moved meanwhile."""
    record, account_id, message = ending.plan.record, case.account.account_id, case.message
    if record is None:
        return
    if email is None:
        # Another message's job may have opened one meanwhile; what it says is newer.
        emails.open_email(
            tx,
            account_id,
            thread_id=message.thread_id,
            message_id=message.message_id,
            decision=ending.decision,
            state=record,
        )
        return
    if not emails.move(tx, account_id, message.thread_id, expected=email.state, to=record):
        raise Transient("the thread's record has changed since it was read", code="thread.changed")


def _wanted(results: tuple[ToolResult, ...]) -> tuple[RequestedAction, ...]:
    """The actions that were asked for, each once."""
    asked = [parse_action(one.wanted) for one in results if one.wanted is not None]
    return tuple(dict.fromkeys(asked))


def _output(ending: Ending, turns: tuple[Turn, ...]) -> JsonObject:
    finish = ending.finish
    return {
        "status": str(finish.status),
        "reason": finish.reason,
        "stopped_by": None if finish.limit is None else str(finish.limit),
        "turns": len(turns),
        "output_preview": ending.preview,
        "pending_actions": len(ending.actions),
    }
