"""The triage family: what does a message ask of its reader? Automation signs, the user's rules, then the model."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from domain.jobs.failures import Gone, Invalid, Transient
from domain.jobs.job import Done, Outcome
from domain.jobs.queues import Queue
from domain.jobs.uniqueness import while_active
from domain.mail.correspondence import EmailEvent, EmailState, label_plan
from domain.mail.replies.drafting import DraftDecision, draft_wanted
from domain.mail.triage.automation import Automation
from domain.mail.triage.automation_signals import AutomationKind, Weight
from domain.mail.triage.classification import (
    LONGEST_RATIONALE,
    Decision,
    accept_answer,
    decide_by_automation,
    needs_review,
    respect_automation,
)
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.prompts import LabelChoice, classification_prompt
from domain.mail.triage.rules import RuleMatch, evaluate_all
from domain.mail.triage.safety import SafetyEnforcer
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.accounts import accounts, labels
from storage.accounts.accounts import Account
from storage.mail import decisions, emails, messages, rules
from storage.mail.decisions import Origins
from storage.mail.emails import Email
from storage.mail.messages import Message
from storage.postgres.database import Transaction
from tasks import drafts
from tasks.mail import machine_drafts, thread_labels
from tasks.mail.language_model import ask, boundary
from tasks.mail.mailbox_session import open_mailbox

HUMAN = Automation(AutomationKind.HUMAN, Weight.NONE)


class ClassifyPayload(Payload):
    """Which message; `force` decides again although it was decided."""

    account_id: UUID
    message_id: str
    force: bool = False


@job(
    queue=Queue.DEFAULT,
    deadline=timedelta(minutes=5),
    unique=while_active("account_id", "message_id"),
    providers=("gmail", "anthropic"),
    aliases=("classify",),
)
def classify(ctx: JobContext, payload: ClassifyPayload) -> Outcome:
    """Decide what a message asks for, show it on the thread, and have a reply drafted when a person waits for one."""
    with ctx.tx() as tx:
        try:
            message = messages.get(tx, payload.account_id, payload.message_id)
        except Gone:
            return Done({"gone": True})
        account = accounts.get(tx, payload.account_id)
        decided = decisions.of_message(tx, payload.account_id, payload.message_id, limit=1)
    if message.direction == "outgoing":
        return Done({"skipped": "the account's own mail asks nothing of it"})
    if decided and not payload.force and decided[0].job_id != ctx.job.job_id:
        return Done({"decided_before": str(decided[0].decision_id)})
    match, decision = _decide(ctx, account, message)
    return _carry_out(ctx, account, message, match, decision)


def _decide(ctx: JobContext, account: Account, message: Message) -> tuple[RuleMatch | None, Decision]:
    """Ask the tiers in order, the dearest last; every path respects what automation forbids."""
    automation = message.automation or HUMAN
    with ctx.tx() as tx:
        facts = _facts(tx, ctx, account, message)
        stored = rules.of_account(tx, account.account_id)
    for rule_id, reason in stored.broken:
        ctx.log.warning("rule_unreadable", rule_id=str(rule_id), reason=reason)
    evaluation = evaluate_all(stored.rules, facts)
    for skipped_id, reason in evaluation.skipped:
        ctx.log.warning("rule_skipped", rule_id=skipped_id, reason=reason)
    match = evaluation.match
    decision = decide_by_automation(automation) or (match.decision() if match else None)
    decision = decision or _ask_model(ctx, account, message)
    if match and match.actions and not decision.actions:
        decision = _with_actions(decision, match)
    return match, respect_automation(decision, automation)


def _with_actions(decision: Decision, match: RuleMatch) -> Decision:
    """A rule's actions on what another tier decided; the rationale says whose they are."""
    rationale = f"{decision.rationale[:400]} Actions by rule {', '.join(match.rule_ids)}."[:LONGEST_RATIONALE]
    return replace(decision, actions=match.actions, rationale=rationale)


def _facts(tx: Transaction, ctx: JobContext, account: Account, message: Message) -> MailFacts:
    sender = message.parsed.from_
    known = messages.known_correspondents(
        tx, account.account_id, {sender.key} if sender else (), before=message.received_at
    )
    thread = messages.of_thread(tx, account.account_id, message.thread_id)
    return MailFacts(
        message=message.parsed,
        automation=message.automation or HUMAN,
        label_ids=message.label_ids,
        age=ctx.now() - message.received_at,
        first_contact=sender is not None and sender.key not in known,
        thread_has_my_reply=any(one.direction == "outgoing" for one in thread),
    )


def _ask_model(ctx: JobContext, account: Account, message: Message) -> Decision:
    with ctx.tx() as tx:
        guidance = rules.guidance(tx, account.account_id, message.parsed.from_)
        offered = [one for one in labels.list_all(tx, account.account_id) if one.for_classifier]
    choices = [LabelChoice(one.label.name, one.description) for one in offered]
    prompt = classification_prompt(message.parsed, boundary(), guidance=guidance, labels=choices)
    model = ctx.runtime.settings.classify_model
    answer = ask(ctx, account.account_id, "classify", model, prompt)
    try:
        return accept_answer(answer, {one.label.name: one.label.label_id for one in offered})
    except Invalid as refusal:
        ctx.log.warning("model_answer_refused", field=refusal.field, reason=refusal.reason)
        return needs_review(f"the model's answer was refused: {refusal.reason}")


def _carry_out(
    ctx: JobContext, account: Account, message: Message, match: RuleMatch | None, decision: Decision
) -> Outcome:
    here, thread_id = account.account_id, message.thread_id
    with ctx.tx() as tx:
        before = emails.get(tx, here, thread_id)
    state = before.state if before else EmailState.PENDING
    wanted = draft_wanted(
        decision,
        message.automation or HUMAN,
        EmailState.PENDING if state in SETTLED else state,
        has_machine_draft=state in {EmailState.DRAFTED, EmailState.REWORK_REQUESTED},
    )
    if wanted.wanted:
        try:
            wanted = _make_ready(ctx, here, thread_id, before, wanted)
        except Gone:
            return Done({"gone": True})
    output = {"classification": str(decision.classification), "source": str(decision.source), "draft": wanted.reason}
    origins = Origins(
        job_id=ctx.job.job_id,
        model=ctx.runtime.settings.classify_model if decision.source == "llm" else None,
        # The database lets only a deterministic decision name rules; a model's names them in its rationale.
        rule_ids=match.rule_ids if match and decision.source == "deterministic" else (),
    )
    verdicts = SafetyEnforcer().judge(decision)

    def write(tx: Transaction) -> None:
        decisions.record(tx, here, message.message_id, decision, verdicts=verdicts, origins=origins)
        _keep_record(tx, here, message, before, decision, wanted=wanted.wanted)

    order = drafts.WritePayload(account_id=here, thread_id=thread_id, message_id=message.message_id)
    children = (drafts.write.new(order, org_id=account.org_id),) if wanted.wanted else ()
    return Done(output, children, writes=write)


def _make_ready(
    ctx: JobContext, here: UUID, thread_id: str, before: Email | None, wanted: DraftDecision
) -> DraftDecision:
    """Show that the thread needs a response, and clear away the old draft of a thread that was at rest."""
    with open_mailbox(ctx, here) as mailbox:
        if before is not None and not _clear_away(ctx, mailbox, before):
            return DraftDecision(wanted=False, reason="a draft that the person worked on is still there")
        thread_labels.show(ctx, mailbox, here, thread_id, label_plan(EmailEvent.CLASSIFIED))
    return wanted


def _clear_away(ctx: JobContext, mailbox: Mailbox, before: Email) -> bool:
    if before.state is EmailState.SENT or before.draft_id is None or before.draft_fingerprint is None:
        return True
    return machine_drafts.discard(ctx, mailbox, before.draft_id, before.draft_fingerprint)


SETTLED = frozenset({EmailState.SENT, EmailState.ARCHIVED, EmailState.SKIPPED})


def _keep_record(
    tx: Transaction, here: UUID, message: Message, before: Email | None, decision: Decision, *, wanted: bool
) -> None:
    """Begin the thread's record, put the newer decision on a pending one, or open a settled one again.

    Another message of the thread may be classified at the same moment: whoever comes second goes on from what the first
    wrote. A message that wants no answer takes nothing from one that does.
    """
    thread_id, message_id = message.thread_id, message.message_id
    if before is None:
        state = EmailState.PENDING if wanted else EmailState.SKIPPED
        if emails.open_email(tx, here, thread_id=thread_id, message_id=message_id, decision=decision, state=state):
            return
        before = emails.get(tx, here, thread_id)
    if before is None or not wanted:
        return
    if before.state in SETTLED and not emails.reopen(tx, here, thread_id, expected=before.state, message_id=message_id):
        raise Transient("the thread's record was moved meanwhile")
    emails.judge(tx, here, thread_id=thread_id, message_id=message_id, decision=decision)
