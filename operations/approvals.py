"""Approvals: which actions wait for a person, the decision about one, and the channel in which an org is asked."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from domain.approvals.decision import Choice, Refusal, RefusedDecision, closed_to
from domain.approvals.question import outcome_of, refusal_words
from domain.jobs.contract import check_text
from domain.jobs.job import JsonObject, Origin
from domain.mail.actions.status import ActionStatus
from domain.payloads.actions import OrderedBy
from domain.payloads.approvals import ShowOutcomePayload
from operations.actions import ActionView, found_action
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Option, Reason, Record, Route
from operations.pages import Page, Window
from storage.accounts import accounts
from storage.actions import actions
from storage.actions.actions import ActionFilter, ActionPlace, StoredAction
from storage.audit import deeds
from storage.doubts import approvals
from storage.ledger import ledger
from storage.postgres.database import Transaction

APPROVALS = Area("approvals", "See which actions wait for a person, decide about them, and say where an org is asked.")


class AskedMessage(BaseModel):
    """A message that asks about an action."""

    channel_id: str
    message_id: str


class ApprovalView(ActionView):
    """An action, what a person is asked about it, and where."""

    question: dict[str, str]
    messages: list[AskedMessage]


class ChannelView(Record):
    """The Discord channel in which an org is asked, and since when."""

    org_id: UUID
    channel_id: str | None = Field(None, description="Null: the org is asked on Discord no more.")
    set_at: datetime | None = None


@APPROVALS.look("list", Route("GET", "/approvals"), org="required")
def list_approvals(
    call: Call,
    window: Window,
    *,
    account_id: Annotated[UUID | None, Field(description="Only this account.")] = None,
) -> Page[ActionView]:
    """List the org's actions that wait for a person's approval, the newest first."""
    waiting = ActionFilter(account_id, states=[ActionStatus.APPROVED_PENDING])
    with call.reading() as tx:
        found = actions.listed(tx, call.org, waiting, after=window.after(ActionPlace), limit=window.rows)
    return window.page(found, ActionView.model_validate, lambda one: ActionPlace(one.created_at, one.action_id))


@APPROVALS.look("show", Route("GET", "/approvals/{action_id}"))
def read_approval(call: Call, action_id: UUID) -> ApprovalView:
    """Show what a person is asked about an action, and the messages that ask."""
    with call.reading() as tx:
        found = found_action(tx, call, action_id)
        question = approvals.question_about(tx, found, 0)
        notices = approvals.notices(tx, action_id)
    return ApprovalView(
        **ActionView.model_validate(found).model_dump(),
        question={fact.name: fact.value for fact in question.facts},
        messages=[AskedMessage(channel_id=one.channel_id, message_id=one.message_id) for one in notices],
    )


@APPROVALS.deed("approve", Route("POST", "/approvals/{action_id}/approve"), events=("approval.approved",))
def approve_action(call: Call, action_id: UUID, *, reason: Reason = None) -> ActionView:
    """Let an action go ahead, by a job. Refused when it waits no more."""
    return _decide(call, action_id, Choice.APPROVE, reason)


@APPROVALS.deed("deny", Route("POST", "/approvals/{action_id}/deny"), events=("approval.denied",))
def deny_action(call: Call, action_id: UUID, *, reason: Reason = None) -> ActionView:
    """Deny an action; it is never executed. Refused when it waits no more."""
    return _decide(call, action_id, Choice.DENY, reason)


DECISIONS = {Choice.APPROVE: approve_action, Choice.DENY: deny_action}
"""The deed of each button."""


@APPROVALS.deed(
    "channel",
    OperatorsOnly("a channel is one org's, and a key of another org could take it first"),
    org="required",
    events=("approval.channel_set", "approval.channel_removed"),
)
def choose_channel(
    call: Call,
    *,
    channel_id: Annotated[
        str,
        Field(description="The id of the Discord channel; an empty text takes it away."),
        Option("--discord"),
    ],
) -> ChannelView:
    """Say in which Discord channel an org is asked."""
    with call.writing() as tx:
        if channel_id:
            made = approvals.choose_channel(tx, call.org, channel_id)
            call.audit(tx, call.org, {"channel_id": channel_id}, event="approval.channel_set")
            return ChannelView.model_validate(made)
        removed = approvals.remove_channel(tx, call.org)
        call.audit(tx, call.org, {"channel_id": removed.channel_id}, event="approval.channel_removed")
        return ChannelView(org_id=call.org)


def record_refusal(tx: Transaction, org_id: UUID, by: Origin, data: JsonObject) -> None:
    """Write that somebody's press on a button did not count, and why."""
    deeds.record(tx, "approval.refused", data, by=by, org_id=org_id)


def _decide(call: Call, action_id: UUID, choice: Choice, reason: str | None) -> ActionView:
    """Write a decision with all that follows from it; raises `RefusedDecision` where the choice does not count.

    An approval releases the action: its job is enqueued here. Another org's action looks like none.
    """
    if reason is not None:
        check_text("reason", reason)
    with call.writing() as tx:
        found = found_action(tx, call, action_id)
        accounts.lock(tx, found.account_id)
        refusal = closed_to(approvals.standing_of(found), ledger.read_time(tx))
        if refusal is not None:
            raise _refused(found, refusal)
        if not actions.decide(tx, action_id, choice.status, approver=call.name, reason=reason):
            # Somebody was quicker, or the time has just run out.
            now = found_action(tx, call, action_id)
            refusal = closed_to(approvals.standing_of(now), ledger.read_time(tx))
            raise _refused(now, refusal or Refusal.EXPIRED)
        call.audit(tx, found.org_id, {"action_id": str(action_id), "kind": str(found.kind), "reason": reason})
        enqueue = call.enqueue_for(found.org_id)
        if choice is Choice.APPROVE:
            actions.release(tx, found.account_id, [action_id], enqueue, by=OrderedBy.PERSON)
        enqueue(tx, ShowOutcomePayload(account_id=found.account_id, action_id=action_id))
        return ActionView.model_validate(found_action(tx, call, action_id))


def _refused(found: StoredAction, refusal: Refusal) -> RefusedDecision:
    outcome = outcome_of(found.state, found.approver, found.why_ended)
    return RefusedDecision(refusal, f"action_id: {refusal_words(refusal, outcome)}")
