"""A run that was asked for by a schedule, a workflow or a service: what it begins with, and what it comes to."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from domain.agents.ending import checked_call, output_of, preview_of
from domain.agents.loop import Finish, RunStatus
from domain.agents.profile import AgentProfile
from domain.agents.prompt import FirstTurn, opening_of_request
from domain.agents.tools import ON_MAILBOX, WITHOUT_MAILBOX, offer_of
from domain.agents.transcript import Turn
from domain.jobs.failures import Forbidden, Gone, Invalid, Permanent
from domain.jobs.job import ActorType, Done, JsonObject, Outcome
from domain.mail.actions.requested_action import parse_action
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.prompts import NO_GUIDANCE, Guidance
from domain.mail.triage.safety import SafetyEnforcer
from domain.notifications.built_in import AGENT
from domain.payloads.agents import InvokePayload
from domain.payloads.other_names import read_uuid
from domain.privacy.redaction import redact_text
from engine.context import JobContext
from storage.accounts import accounts, labels
from storage.accounts.accounts import Account
from storage.accounts.labels import StoredLabel
from storage.agents import profiles, runs
from storage.agents.profiles import StoredProfile
from storage.agents.runs import BegunRun, RunSubject
from storage.notifications import notifications
from storage.postgres.database import Transaction
from storage.rules import rules, safety
from tasks.mail import action_orders
from tasks.mail.agents.conversation import CarryOut, Script, last_word, results_of
from tasks.mail.agents.mailbox_tools import Desk, MailboxTools, NoTools
from tasks.mail.language_model import boundary
from tasks.mail.mailbox_session import check_connected

ANSWERED = frozenset({RunStatus.SUCCEEDED, RunStatus.ESCALATED})
"""How a run ends that has something to say; a person who is called is no failure."""
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class KnownMailbox:
    """The mailbox that a run works on, and what its owner has said about mail."""

    account: Account
    labels: tuple[StoredLabel, ...]
    guidance: Guidance
    safety: SafetyEnforcer


@dataclass(frozen=True, slots=True)
class InvocationCase:
    """All that a run begins with; without a mailbox it has words only."""

    payload: InvokePayload
    profile: AgentProfile
    run: BegunRun
    mailbox: KnownMailbox | None


def read(ctx: JobContext, payload: InvokePayload) -> InvocationCase:
    """Read everything and begin the run in one transaction.

    Raises `Invalid` with the field for a profile or a mailbox that the org does not have, `Forbidden` where agents or
    the profile are turned off, and as `check_connected`.
    """
    with ctx.tx() as tx:
        mailbox = None if payload.account_id is None else _mailbox(tx, payload.account_id)
        stored = _profile(tx, ctx, payload)
        limits = stored.profile.limits.narrowed(payload.config.model_dump())
        subject = RunSubject(payload.account_id, schedule_id=payload.schedule_id)
        return InvocationCase(
            payload=payload,
            profile=stored.profile.model_copy(update={"limits": limits}),
            run=runs.begin(tx, ctx.job.job_id, subject, stored),
            mailbox=mailbox,
        )


def _mailbox(tx: Transaction, account_id: UUID) -> KnownMailbox:
    try:
        account = accounts.get(tx, account_id)
    except Gone:
        raise Invalid("payload.account_id", "is no account of this org") from None
    check_connected(account)
    if not account.settings.agent_enabled:
        raise Forbidden("agents are off for this account", code="agent.off")
    return KnownMailbox(
        account=account,
        labels=labels.list_all(tx, account_id),
        guidance=rules.guidance(tx, account_id, None),
        safety=SafetyEnforcer(safety.of_account(tx, account_id)),
    )


def _profile(tx: Transaction, ctx: JobContext, payload: InvokePayload) -> StoredProfile:
    """The version that the run began with, or the newest; whether it may run, the newest says."""
    name = payload.profile
    newest = profiles.find(tx, ctx.org_id, payload.account_id, name)
    if newest is None:
        raise Invalid("payload.profile", f"there is no profile {name}")
    if not newest.enabled:
        raise Forbidden(f"the profile {name} is disabled", code="agent.disabled")
    return profiles.of_runs(tx, ctx.org_id, runs.jobs_done_again(tx, ctx.job.job_id), name) or newest


def set_up(ctx: JobContext, case: InvocationCase) -> tuple[Script, CarryOut]:
    """What the conversation is held with. It is kept: an attempt after a crash goes on with the same words."""
    made = ctx.step("agent_opening", lambda: _opening(ctx, case))
    opening, mailbox = FirstTurn(made["system"], made["text"]), case.mailbox
    if mailbox is None:
        return Script(None, case.profile, WITHOUT_MAILBOX, opening), NoTools(ctx).carry_out
    own, may_send = labels.of_person(mailbox.labels), mailbox.account.settings.send_allowed
    offer = offer_of(case.profile, own, may_send=may_send, kit=ON_MAILBOX)
    desk = Desk(
        account=mailbox.account,
        label_ids=labels.by_role(mailbox.labels),
        boundary=made["boundary"],
        secret=made["mark"],
        offer=offer,
        safety=mailbox.safety,
    )
    return Script(mailbox.account.account_id, case.profile, offer, opening), MailboxTools(ctx, desk).carry_out


def _opening(ctx: JobContext, case: InvocationCase) -> JsonObject:
    guidance = NO_GUIDANCE if case.mailbox is None else case.mailbox.guidance
    has_mailbox = case.mailbox is not None
    begun = opening_of_request(case.profile, case.payload.prompt, ctx.now(), has_mailbox=has_mailbox, guidance=guidance)
    return {"system": begun.system, "text": begun.text, "boundary": boundary(), "mark": boundary()}


def end(ctx: JobContext, case: InvocationCase, turns: tuple[Turn, ...], finish: Finish) -> Outcome:
    """Write what the run came to together with the job's end; raises `Permanent` for one that has no answer.

    What such a run asked for is not recorded: nobody is asked to approve the orders of a run that went wrong.
    """
    last = last_word(turns)
    worked = case.run.worked + (ctx.now() - ctx.began_at)
    if finish.status not in ANSWERED:
        with ctx.tx() as tx:
            runs.finish(tx, case.run.run_id, finish, turns, preview=preview_of(last))
        raise Permanent(finish.reason, code=f"agent.{finish.status}")

    def write(tx: Transaction) -> JsonObject:
        begun = () if case.mailbox is None else _order(ctx, tx, case.mailbox, turns)
        pending = begun.count(ActionStatus.APPROVED_PENDING)
        runs.finish(tx, case.run.run_id, finish, turns, preview=preview_of(last), pending_actions=pending)
        if finish.status is RunStatus.ESCALATED:
            _call_owner(ctx, tx, case, last)
        return {
            "output": output_of(last),
            "duration_ms": worked // MILLISECOND,
            "pending_actions": pending,
            "status": str(finish.status),
        }

    return Done(writes=write)


def _order(
    ctx: JobContext, tx: Transaction, mailbox: KnownMailbox, turns: tuple[Turn, ...]
) -> tuple[ActionStatus, ...]:
    """Record the actions that were asked for, each once."""
    asked = dict.fromkeys(
        (one.about, parse_action(one.wanted))
        for one in results_of(turns)
        if one.wanted is not None and one.about is not None
    )
    checked = [(message_id, checked_call(action, mailbox.safety)) for message_id, action in asked]
    return action_orders.request(ctx, tx, mailbox.account.account_id, checked)


def _call_owner(ctx: JobContext, tx: Transaction, case: InvocationCase, reason: str) -> None:
    """Tell the mailbox's owner, or else the person who asked, that the agent has called them."""
    by = ctx.job.origin
    owner = None if case.mailbox is None else case.mailbox.account.user_id
    person = owner or (read_uuid(by.actor_id) if by.actor_type is ActorType.USER else None)
    if person is not None:
        words = {"profile": case.profile.name, "text": redact_text(reason)}
        bucket = str(ctx.job.job_id)
        notifications.notify_people(tx, ctx.org_id, [person], AGENT, words, bucket=bucket, by=by)
