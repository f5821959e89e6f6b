"""The triage family: what does a message ask of its reader? Automation signals, the user's rules, then the model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from domain.jobs.failures import Gone, Invalid, Transient
from domain.jobs.job import Done, JsonObject, Outcome
from domain.jobs.queues import Queue
from domain.mail.correspondence import SETTLED, EmailState
from domain.mail.mailbox import INBOX, ThreadFacts
from domain.mail.rule_language.rules import Evaluation, RuleMatch, complete, decide_without_model, evaluate_all
from domain.mail.thread_plan import DraftStanding, ThreadBefore, ThreadPlan, depends_on_draft, plan_thread
from domain.mail.triage.automation import HUMAN, Automation
from domain.mail.triage.automation_signals import AutomationKind
from domain.mail.triage.classification import (
    Decision,
    accept_answer,
    decide_by_automation,
    needs_review,
)
from domain.mail.triage.corrections import Correction, correction_lines
from domain.mail.triage.mail_facts import MailFacts
from domain.mail.triage.models_asked import decide_by_both, why_ask_again
from domain.mail.triage.prompts import NO_GUIDANCE, Guidance, LabelChoice, classification_prompt
from domain.mail.triage.safety import SafetyEnforcer
from domain.models.agents.routing import Routed, route_message
from domain.payloads.agents import ProcessPayload
from domain.payloads.drafts import WritePayload
from domain.payloads.mail_address import Address
from domain.payloads.triage import ClassifyPayload
from engine.catalogue import job
from engine.context import JobContext
from storage.mail import decisions, emails, messages
from storage.mail.accounts import accounts, labels
from storage.mail.accounts.accounts import Account
from storage.mail.accounts.labels import StoredLabel
from storage.mail.decisions import Origins, PastDecisions
from storage.mail.emails import Email, MadeDraft
from storage.mail.messages import Message
from storage.mail.rules import corrections, rules, safety
from storage.mail.rules.rules import StoredRules
from storage.models.agents.standing import standing_of
from storage.postgres.database import Transaction
from storage.postgres.transaction import Asked
from tasks.mail.steps import action_orders
from tasks.mail.steps.drafts import machine_drafts
from tasks.mail.steps.language_model import ask, boundary, models_asked
from tasks.mail.steps.mailbox_change import OpenThread, open_thread
from tasks.mail.steps.mailbox_session import OF_MAILBOX, check_connected

MOST_SKIPPED = 20
"""Rules that were passed over, as the output names them; the log has all."""

CHANGED = "the thread has changed since it was planned on"


@job(queue=Queue.DEFAULT, deadline=timedelta(minutes=5), providers=("gmail", "anthropic"), **OF_MAILBOX)
def classify(ctx: JobContext, payload: ClassifyPayload) -> Outcome:
    """Decide what a message asks for, show it on the thread, and have a reply drafted when a person waits for one."""
    case = _read(ctx, payload)
    if isinstance(case, Done):
        return case
    evaluation = _evaluate(ctx, case)
    match = evaluation.match
    routed = _route(ctx, case, match)
    if routed is not None and (routed.to_agent or routed.is_taken):
        return _to_agent(ctx, case, match, routed)
    decided = _decide(ctx, case, match)
    decision = decided.decision
    label_ids = labels.by_role(case.labels)
    with open_thread(ctx, case.account, case.message.thread_id, label_ids) as thread:
        planned = _plan(thread, case, decision)
        plan = planned.plan
        try:
            thread.carry_out(plan, case.draft, check=partial(_check_place, ctx, case, plan))
        except Gone:
            return Done({"gone": True})
    origins = _origins(ctx, match, decided)
    account_id, message = case.account.account_id, case.message
    output = _output(decided, plan, evaluation, routed)

    def write(tx: Transaction) -> JsonObject | None:
        thread.finish(tx)
        if _earlier(ctx, tx, account_id, message.message_id).answer != case.earlier:
            # By a job under a key of its caller's, beside this one: what it asks for would be asked for twice.
            raise Transient("another job has decided about the message", code="thread.changed")
        left_out = action_orders.record(
            ctx, tx, account_id, message.message_id, decision,
            checked=plan.actions, origins=origins, is_newer=case.earlier.was_decided,
        )  # fmt: skip
        _put_record(tx, case, planned)
        return {"left_out": [action._asdict() for action in left_out]} if left_out else None

    write_draft = WritePayload(account_id=account_id, thread_id=message.thread_id, message_id=message.message_id)
    children = (write_draft.job(org_id=ctx.org_id),) if plan.order_draft else ()
    return Done(output, children, writes=write)


@dataclass(frozen=True, slots=True)
class TriageCase:
    """All that the ledger knows of a message that is to be classified."""

    account: Account
    message: Message
    automation: Automation
    facts: MailFacts
    rules: StoredRules
    guidance: Guidance
    labels: tuple[StoredLabel, ...]
    safety: SafetyEnforcer
    email: Email | None
    """The record of the message's thread."""
    forced: bool
    """Whether the message is decided again by request, wherever it lies."""
    earlier: PastDecisions
    """What other jobs have decided about it."""

    @property
    def wanted(self) -> bool:
        """Whether the message is in the inbox, or counts as if it were."""
        return self.forced or INBOX in self.message.label_ids

    @property
    def draft(self) -> MadeDraft | None:
        """The draft that the record names."""
        return self.email.draft if self.email else None


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision, and the model that made it, if one did."""

    decision: Decision
    model: str | None = None
    asked_again: str | None = None
    """Why the better model was asked after the cheaper one."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and what it was made from."""

    before: ThreadBefore
    decision: Decision
    plan: ThreadPlan


def _read(ctx: JobContext, payload: ClassifyPayload) -> TriageCase | Done:
    """Read everything in one transaction, in two trips; `Done` when there is nothing to decide."""
    account_id, now = payload.account_id, ctx.now()
    with ctx.read() as tx:
        ask_account, ask_message = (
            accounts.ask_for(tx, account_id),
            messages.ask_for(tx, account_id, payload.message_id),
        )
        ask_earlier = _earlier(ctx, tx, account_id, payload.message_id)
        ask_rules, ask_policy = rules.of_account(tx, account_id), safety.of_account(tx, account_id)
        try:
            account, message = ask_account.answer, ask_message.answer
        except Gone:
            return Done({"gone": True})
        check_connected(account)
        if message.direction == "outgoing":
            return Done({"skipped": "the account's own mail asks nothing of it"})
        earlier = ask_earlier.answer
        if earlier.final is not None and not payload.force:
            return Done({"decided_before": str(earlier.final)})
        certain = decide_by_automation(message.automation or HUMAN) is not None
        sender, facts = message.parsed.from_, _ask_facts(tx, account_id, message)
        email = emails.ask_for(tx, account_id, message.thread_id)
        ask_labels = None if certain else labels.ask_for_all(tx, account_id)
        guidance = None if certain else rules.guidance(tx, account_id, sender)
        corrected = None if certain else corrections.recent(tx, account_id, now=now)
    return TriageCase(
        account=account,
        message=message,
        automation=message.automation or HUMAN,
        facts=facts(now),
        rules=ask_rules.answer,
        guidance=_guidance(guidance, corrected, sender),
        labels=ask_labels.answer if ask_labels else (),
        safety=SafetyEnforcer(ask_policy.answer),
        email=email.answer,
        forced=payload.force,
        earlier=earlier,
    )


def _earlier(ctx: JobContext, tx: Transaction, account_id: UUID, message_id: str) -> Asked[PastDecisions]:
    """What other jobs have decided about the message."""
    return decisions.by_others(tx, account_id, message_id, job_id=ctx.job.job_id, models=models_asked(ctx.settings))


def _guidance(
    said: Asked[Guidance] | None, corrected: Asked[tuple[Correction, ...]] | None, sender: Address | None
) -> Guidance:
    """What the owner has said, and what they corrected lately."""
    if said is None or corrected is None:
        return NO_GUIDANCE
    return replace(said.answer, corrections=correction_lines(corrected.answer, sender))


def _ask_facts(tx: Transaction, account_id: UUID, message: Message) -> Callable[[datetime], MailFacts]:
    """Ask what the rules judge; the facts are of the moment that they are called for."""
    sender = message.parsed.from_
    known = messages.known_correspondents(tx, account_id, {sender.key} if sender else (), before=message.received_at)
    thread = messages.ask_for_thread(tx, account_id, message.thread_id)
    return lambda now: MailFacts(
        message=message.parsed,
        automation=message.automation or HUMAN,
        label_ids=message.label_ids,
        age=now - message.received_at,
        first_contact=sender is not None and sender.key not in known.answer,
        thread_has_my_reply=any(one.direction == "outgoing" for one in thread.answer),
    )


def _evaluate(ctx: JobContext, case: TriageCase) -> Evaluation:
    """What the account's rules say."""
    for rule_id, reason in case.rules.broken:
        ctx.log.warning("rule_unreadable", rule_id=str(rule_id), reason=reason)
    evaluation = evaluate_all(case.rules.rules, case.facts)
    for skipped_id, reason in evaluation.skipped:
        ctx.log.warning("rule_skipped", rule_id=skipped_id, reason=reason)
    return evaluation


def _route(ctx: JobContext, case: TriageCase, match: RuleMatch | None) -> Routed | None:
    """Where a rule sends the message; None where no rule names an agent.

    A message that is classified by request stays here, and so does the account's own mail.
    """
    agent = match.agent if match else None
    if agent is None or case.forced or case.automation.kind is AutomationKind.SELF:
        return None
    with ctx.read() as tx:
        _, standing = standing_of(tx, ctx.org_id, case.account, agent, message_id=case.message.message_id)
    routed = route_message(agent, standing)
    if not routed.to_agent:
        ctx.log.warning("agent_not_used", agent=agent, reason=routed.reason)
    return routed


def _output(decided: Decided, plan: ThreadPlan, evaluation: Evaluation, routed: Routed | None) -> JsonObject:
    """What the job says of its decision to whoever asked for it."""
    decision = decided.decision
    output: JsonObject = {
        "classification": str(decision.classification),
        "source": str(decision.source),
        "draft": plan.reason,
    }
    if decided.asked_again:
        output["asked_again"] = decided.asked_again
    if evaluation.match and evaluation.match.route:
        output["route"] = evaluation.match.route
    if evaluation.skipped:
        skipped = [{"rule_id": rule_id, "reason": reason} for rule_id, reason in evaluation.skipped[:MOST_SKIPPED]]
        output["rules_skipped"] = {"count": len(evaluation.skipped), "first": skipped}
    if routed is not None:
        output["agent_not_used"] = routed.reason
    return output


def _to_agent(ctx: JobContext, case: TriageCase, match: RuleMatch | None, routed: Routed) -> Done:
    """Hand the message to the agent that a rule names, unless an agent is at it."""
    agent = (match.agent if match else None) or ""
    if routed.is_taken:
        return Done({"agent": agent, "skipped": routed.reason})
    account_id, message = case.account.account_id, case.message
    order = ProcessPayload(
        account_id=account_id, thread_id=message.thread_id, message_id=message.message_id, profile=agent
    )
    return Done({"agent": agent}, children=(order.job(org_id=ctx.org_id),))


def _decide(ctx: JobContext, case: TriageCase, match: RuleMatch | None) -> Decided:
    """Ask the tiers in order, the most expensive last; no path replies where automation forbids it."""
    by_rule = decide_without_model(case.automation, match)
    decided = _ask_models(ctx, case) if by_rule is None else Decided(by_rule)
    return replace(decided, decision=complete(decided.decision, match, case.automation))


def _origins(ctx: JobContext, match: RuleMatch | None, decided: Decided) -> Origins:
    return Origins(
        job_id=ctx.job.job_id,
        model=decided.model,
        # The database lets only a deterministic decision name rules; a model's names them in its rationale.
        rule_ids=match.rule_ids if match and decided.model is None else (),
        undecided_by=models_asked(ctx.settings).name if decided.decision.is_undecided else None,
    )


def _ask_models(ctx: JobContext, case: TriageCase) -> Decided:
    """The cheaper model's decision where it may stand, else the better one's."""
    asked = models_asked(ctx.settings)
    if asked.first is None:
        return Decided(_ask_model(ctx, case, asked.model), asked.model)
    first = _ask_model(ctx, case, asked.first)
    why = why_ask_again(first, ctx.settings.classify_sure_from)
    if why is None:
        return Decided(first, asked.first)
    return Decided(decide_by_both(first, _ask_model(ctx, case, asked.model)), asked.model, why)


def _ask_model(ctx: JobContext, case: TriageCase, model: str) -> Decision:
    """One model's decision; its answer is kept under its name, for a setting may change between two attempts."""
    # System labels have actions of their own, each with its own danger.
    named = [one for one in case.labels if one.for_classifier and one.label.kind == "user"]
    choices = [LabelChoice(one.label.name, one.description) for one in named]
    offered = case.account.settings.model_actions
    prompt = classification_prompt(
        case.message.parsed, boundary(), guidance=case.guidance, labels=choices, actions=offered
    )
    label_ids = {one.label.name: one.label.label_id for one in named}

    def accept(arguments: Mapping[str, object]) -> Decision:
        return accept_answer(arguments, label_ids, offered)

    try:
        return ask(ctx, case.account.account_id, f"classify.{model}", model, prompt, accept)
    except Invalid as refusal:
        ctx.log.warning("model_answer_refused", model=model, field=refusal.field, reason=refusal.reason)
        return needs_review(f"the model's answer was refused: {refusal.reason}")


def _before(case: TriageCase, email: Email | None, *, in_inbox: bool) -> ThreadBefore:
    before = email.before if email else ThreadBefore()
    return replace(before, in_inbox=in_inbox, left_to_person=case.earlier.was_undecided)


def _plan(thread: OpenThread, case: TriageCase, decision: Decision) -> Planned:
    """The plan; the old draft is read first where the plan depends on it."""
    before = _before(case, case.email, in_inbox=case.wanted)
    if case.draft and depends_on_draft(before, decision, case.automation):
        before = replace(before, draft=machine_drafts.standing(thread.mailbox, case.draft))
    return Planned(before, decision, plan_thread(before, decision, case.automation, case.safety))


def _check_place(ctx: JobContext, case: TriageCase, plan: ThreadPlan, thread: ThreadFacts) -> None:
    """Plan again where the message has left the inbox and what is stored does not say so yet."""
    account_id, message_id = case.account.account_id, case.message.message_id
    now = next((one.label_ids for one in thread.messages if one.message_id == message_id), None)
    if case.forced or not plan.labels.add or (now is not None and INBOX in now):
        return
    with ctx.tx() as tx:
        if now is None:
            messages.mark_deleted(tx, account_id, {message_id})
        else:
            messages.change_labels(tx, account_id, {message_id}, add=now, remove={INBOX})
    raise Transient(CHANGED, code="thread.changed")


def _put_record(tx: Transaction, case: TriageCase, planned: Planned) -> None:
    """Begin the thread's record, put the newer decision on a pending one, or open a finished one again.

    The record may have moved and the message may have left the inbox since the plan was made. What matters is whether
    one would do the same today: then the record goes on from where it is, and else the job plans again (`Transient`;
    the model's answer is kept). A message that wants no answer takes nothing from one that does.
    """
    account_id, message, plan = case.account.account_id, case.message, planned.plan
    where = {"thread_id": message.thread_id, "message_id": message.message_id}
    if case.email is None and plan.record is not None:
        # What is shown on the thread was planned for a message in the inbox.
        asks_inbox = bool(plan.labels.add) and not case.forced
        if emails.open_email(
            tx, account_id, **where, decision=planned.decision, state=plan.record, in_inbox=asks_inbox
        ):
            return
    email, in_inbox = emails.with_inbox(tx, account_id, **where)
    if plan.order_draft and email is not None and email.state is EmailState.DRAFTED:
        return  # by another message's job: the one that is ordered here shows the draft on this message, too
    before = _before(case, email, in_inbox=in_inbox or case.forced)
    if email is not None and email.draft == case.draft and before.draft is DraftStanding.UNREAD:
        before = replace(before, draft=planned.before.draft)
    unread = depends_on_draft(before, planned.decision, case.automation)
    if email is None or unread or not plan_thread(before, planned.decision, case.automation).acts_like(plan):
        raise Transient(CHANGED, code="thread.changed")
    if not plan.order_draft:
        return
    if email.state in SETTLED and not emails.reopen(
        tx, account_id, message.thread_id, expected=email.state, message_id=message.message_id
    ):
        raise Transient(CHANGED, code="thread.changed")
    emails.update_decision(tx, account_id, **where, decision=planned.decision)
