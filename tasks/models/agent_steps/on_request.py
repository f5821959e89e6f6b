"""A run that a schedule, a workflow or a service asks for: what it begins with, and what it answers."""

from datetime import timedelta

from domain.jobs.failures import Forbidden, Gone, Invalid, Permanent
from domain.jobs.job import ActorType, Done, JsonObject, Outcome
from domain.mail.actions.status import ActionStatus
from domain.mail.triage.prompts import NO_GUIDANCE
from domain.models.agents.ending import Held, checked_call, output_of
from domain.models.agents.loop import RunStatus
from domain.models.agents.profile import AgentProfile
from domain.models.agents.prompt import opening_of_request
from domain.models.agents.routing import route_message
from domain.models.agents.tools import ON_MAILBOX, WITHOUT_MAILBOX, Offer, offer_of
from domain.notifications.built_in import AGENT
from domain.orgs.privacy.redaction import redact_text
from domain.payloads.agents import InvokePayload
from domain.payloads.other_names import read_uuid
from engine.context import JobContext
from storage.mail.accounts import accounts
from storage.mail.accounts.accounts import Account
from storage.models.agents import runs
from storage.models.agents.runs import RunSubject
from storage.models.agents.standing import standing_of
from storage.notifications import notifications
from storage.postgres.database import Transaction
from tasks.mail.steps import action_orders
from tasks.mail.steps.language_model import boundary
from tasks.mail.steps.mailbox_session import check_connected
from tasks.models.agent_steps.run import AgentRun, KnownMailbox, Opening, read_mailbox

ANSWERED = frozenset({RunStatus.SUCCEEDED, RunStatus.ESCALATED})
"""How a run ends that has something to say; a person who is called is no failure."""
MILLISECOND = timedelta(milliseconds=1)


def read(ctx: JobContext, payload: InvokePayload) -> AgentRun:
    """Read everything and begin the run in one transaction.

    Raises `Invalid` with the field for a profile or a mailbox that the org does not have, `Forbidden` where agents or
    the profile are turned off, and as `check_connected`.
    """
    with ctx.tx() as tx:
        account = _account(tx, payload)
        stored, standing = standing_of(tx, ctx.org_id, account, payload.profile, but_job=ctx.job.job_id)
        routed = route_message(payload.profile, standing)
        if not standing.account_allows:
            raise Forbidden(routed.reason, code="agent.off")
        if stored is None or not standing.has_profile:
            raise Invalid("payload.profile", routed.reason)
        if not routed.to_agent:
            raise Forbidden(routed.reason, code="agent.disabled")
        mailbox = None if account is None else read_mailbox(tx, account)
        about = RunSubject(payload.account_id, schedule_id=payload.schedule_id)
        begun = runs.begin(tx, ctx.job.job_id, about, stored)
    limits = stored.profile.limits.narrowed(payload.config.model_dump())
    profile = stored.profile.model_copy(update={"limits": limits})
    guidance = NO_GUIDANCE if mailbox is None else mailbox.guidance
    first = opening_of_request(profile, payload.prompt, ctx.now(), has_mailbox=mailbox is not None, guidance=guidance)
    return AgentRun(
        begun=begun,
        profile=profile,
        offer=_offer(profile, mailbox),
        mailbox=mailbox,
        own=None,
        opening=Opening(first.system, first.text, boundary(), mark=boundary()),
        end=_end,
    )


def _account(tx: Transaction, payload: InvokePayload) -> Account | None:
    if payload.account_id is None:
        return None
    try:
        account = accounts.get(tx, payload.account_id)
    except Gone:
        raise Invalid("payload.account_id", "is no account of this org") from None
    check_connected(account)
    return account


def _offer(profile: AgentProfile, mailbox: KnownMailbox | None) -> Offer:
    if mailbox is None:
        return WITHOUT_MAILBOX
    return offer_of(profile, mailbox.own_labels, may_send=mailbox.account.settings.send_allowed, kit=ON_MAILBOX)


def _end(ctx: JobContext, run: AgentRun, held: Held) -> Outcome:
    """The agent's answer; raises `Permanent` for a run that has none.

    What such a run asked for is not recorded: nobody is asked to approve the orders of a run that went wrong.
    """
    status = held.finish.status
    worked = run.begun.worked + (ctx.now() - ctx.began_at)
    if status not in ANSWERED:
        with ctx.tx() as tx:
            run.finish(tx, held)
        raise Permanent(held.finish.reason, code=f"agent.{status}")

    def write(tx: Transaction) -> JsonObject:
        pending = 0 if run.mailbox is None else _order(ctx, tx, run.mailbox, held)
        run.finish(tx, held, pending_actions=pending)
        if status is RunStatus.ESCALATED:
            _call_owner(ctx, tx, run, held.last_word)
        return {
            "output": output_of(held.last_word),
            "duration_ms": worked // MILLISECOND,
            "pending_actions": pending,
            "status": str(status),
        }

    return Done(writes=write)


def _order(ctx: JobContext, tx: Transaction, mailbox: KnownMailbox, held: Held) -> int:
    """Record the actions that were asked for; returns how many wait for a person."""
    checked = [(message_id, checked_call(action, mailbox.safety)) for message_id, action in held.wanted]
    begun = action_orders.request(ctx, tx, mailbox.account.account_id, checked)
    return begun.count(ActionStatus.APPROVED_PENDING)


def _call_owner(ctx: JobContext, tx: Transaction, run: AgentRun, reason: str) -> None:
    """Tell the mailbox's owner, or else the person who asked, that the agent has called them."""
    by = ctx.job.origin
    owner = None if run.mailbox is None else run.mailbox.account.user_id
    person = owner or (read_uuid(by.actor_id) if by.actor_type is ActorType.USER else None)
    if person is not None:
        words = {"profile": run.profile.name, "text": redact_text(reason)}
        bucket = str(ctx.job.job_id)
        notifications.notify_people(tx, ctx.org_id, [person], AGENT, words, bucket=bucket, by=by)
