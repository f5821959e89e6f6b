"""Approvals: what waits for a person, the decision about it, and the channel in which an org is asked."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from domain.approvals.decision import (
    ApprovalStanding,
    ApprovalState,
    Choice,
    PressFacts,
    Refusal,
    RefusedDecision,
    closed_to,
    refusal_of,
)
from domain.approvals.question import outcome_of, refusal_words
from domain.jobs.contract import check_text
from domain.jobs.job import SYSTEM_ORG, JsonObject
from domain.mail.triage.classification import Classification, DecisionSource
from domain.payloads.approvals import ShowOutcomePayload
from operations.call import Call
from operations.mail.actions import ActionView
from operations.operation import Area, OperatorsOnly, Reason, Record, Route
from operations.pages import Page, Window
from storage.approvals import approvals, subjects
from storage.approvals.subjects import ApprovalSubject, SubjectPosition
from storage.jobs import ledger
from storage.jobs.audit_log import deeds
from storage.mail import decisions
from storage.mail.accounts import accounts
from storage.mail.actions.actions import StoredAction
from storage.orgs.access.users import User
from storage.postgres.database import Transaction

APPROVALS = Area("approvals", "See what waits for a person, decide about it, and say where an org is asked.")


class AskedMessage(BaseModel):
    """A message that asks."""

    channel_id: str
    message_id: str


class AskingNodeView(BaseModel):
    """The node of a workflow's run that waits for the decision."""

    model_config = ConfigDict(from_attributes=True)
    run_id: UUID
    workflow: str
    node: str
    show: object = Field(description="The value that the person is to judge.")


class ApprovalView(Record):
    """A question to a person, what it is about, and how it ended."""

    values: ClassVar[tuple[str, ...]] = ("action.parameters", "node.show")
    plural: ClassVar = "approvals"
    columns: ClassVar = ("approval_id", "about", "title", "why", "asked_at", "expires_at")
    approval_id: UUID = Field(description="The action's id, or that of the node's wait.")
    org_id: UUID
    about: Literal["action", "workflow"] = Field(description="Of a workflow, a node of a run waits.")
    title: str
    why: str = Field(description="Why a person is asked.")
    state: ApprovalState
    asked_at: datetime
    expires_at: datetime | None
    approver: str | None = Field(description="Who decided.")
    decided_at: datetime | None
    reason: str | None = Field(description="What who decided wrote, or why it was canceled.")
    action: ActionView | None
    node: AskingNodeView | None

    @classmethod
    def of(cls, subject: ApprovalSubject, **more: object) -> Self:
        """The view of a subject."""
        of, standing = subject.of, subject.standing
        facts = {
            "approval_id": subject.approval_id, "org_id": subject.org_id, "title": subject.title, "why": subject.why,
            "state": standing.state, "asked_at": subject.asked_at, "expires_at": standing.expires_at,
            "approver": standing.decider, "decided_at": of.decided_at, "reason": standing.reason,
        }  # fmt: skip
        if isinstance(of, StoredAction):
            return cls(about="action", action=ActionView.model_validate(of), node=None, **facts, **more)
        return cls(about="workflow", action=None, node=AskingNodeView.model_validate(of), **facts, **more)

    @property
    def outcome(self) -> str:
        """How the question ended, on one line."""
        return outcome_of(ApprovalStanding(self.state, self.expires_at, self.approver, self.reason))


class EvidenceView(BaseModel):
    """What led to the action: a rule, or the model's answer and how sure it was."""

    model_config = ConfigDict(from_attributes=True)
    source: DecisionSource
    classification: Classification
    confidence: float = Field(description="From 0 to 1.")
    rationale: str = Field(description="The model's reason, which may repeat words of the mail.")
    caution: bool = Field(description="Whether the mail looked like an attempt to steer the model.")
    rules: list[str] = Field(description="The names of the rules that matched, of those that are kept.")
    model: str | None
    at: datetime


class AskedApprovalView(ApprovalView):
    """A question to a person in words, what led to it, and where it was asked."""

    values: ClassVar[tuple[str, ...]] = (*ApprovalView.values, "question", "evidence.rationale")
    question: dict[str, str]
    evidence: EvidenceView | None = Field(description="Null where somebody asked for the action, and for a workflow.")
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
    account_id: Annotated[UUID | None, Field(description="Only this account's actions.")] = None,
) -> Page[ApprovalView]:
    """List what waits for a person's decision in an org, the newest first."""
    after = window.after(SubjectPosition)
    with call.reading() as tx:
        found = subjects.waiting(tx, call.org, account_id=account_id, after=after, limit=window.rows)
    return window.page(found, ApprovalView.of, subjects.position_of)


@APPROVALS.look("show", Route("GET", "/approvals/{approval_id}"))
def read_approval(call: Call, approval_id: UUID) -> AskedApprovalView:
    """Show what a person is asked, and the messages that ask."""
    with call.reading() as tx:
        found = _found(tx, call, approval_id)
        question = subjects.question_about(tx, found, 0)
        notices = approvals.notices(tx, approval_id)
        evidence = _evidence(tx, found)
    return AskedApprovalView.of(
        found,
        question={fact.name: fact.value for fact in question.facts},
        evidence=evidence,
        messages=[AskedMessage(channel_id=one.channel_id, message_id=one.message_id) for one in notices],
    )


@APPROVALS.deed("approve", Route("POST", "/approvals/{approval_id}/approve"), events=("approval.approved",))
def approve(call: Call, approval_id: UUID, *, reason: Reason = None) -> ApprovalView:
    """Let what waits go ahead: an action by a job, a workflow by its next node. Refused when it waits no more."""
    return _decide(call, approval_id, Choice.APPROVE, reason)


@APPROVALS.deed("deny", Route("POST", "/approvals/{approval_id}/deny"), events=("approval.denied",))
def deny(call: Call, approval_id: UUID, *, reason: Reason = None) -> ApprovalView:
    """Deny it: an action is never executed, and a node of a workflow has failed. Refused when it waits no more."""
    return _decide(call, approval_id, Choice.DENY, reason)


DECISIONS = {Choice.APPROVE: approve, Choice.DENY: deny}
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


@dataclass(frozen=True, slots=True)
class Presser:
    """Who presses a button or follows a link, and whether where the question was asked."""

    user: User | None
    is_its_place: bool


@dataclass(frozen=True, slots=True)
class RefusedChoice:
    """A person's choice does not count."""

    refusal: Refusal
    outcome: str
    """How the question ended, on one line; empty for who may not know of it."""


def decide_in_person(
    call: Call,
    approval_id: UUID,
    choice: Choice,
    look: Callable[[Transaction, ApprovalSubject], Presser],
    *,
    reason: str | None = None,
) -> ApprovalView | RefusedChoice:
    """Decide in the name of the person who presses, within the call's transaction; a refusal is audited, too.

    `look` finds out who that is. Whoever presses elsewhere than they were asked learns nothing of the question.
    """
    with call.reading() as tx:
        found = subjects.find(tx, approval_id)
        presser = Presser(None, is_its_place=False) if found is None else look(tx, found)
        refusal = refused_to(tx, presser, found)
        if refusal is None and presser.user is not None:
            try:
                return DECISIONS[choice](replace(call, name=presser.user.email), approval_id, reason=reason)
            except RefusedDecision as refused:
                # Something has changed since the look.
                refusal, found = refused.refusal, subjects.find(tx, approval_id)
        data: JsonObject = {"approval_id": str(approval_id), "choice": str(choice), "why": str(refusal)}
        deeds.record(tx, "approval.refused", data, by=call.origin, org_id=found.org_id if found else SYSTEM_ORG)
        return RefusedChoice(refusal or Refusal.NOT_HERE, outcome_of(found.standing) if found else "")


def refused_to(tx: Transaction, presser: Presser, asked: ApprovalSubject | None) -> Refusal | None:
    """Why the choice of this person would not count; None when it would."""
    if asked is None:
        return Refusal.NOT_HERE
    role = presser.user.role if presser.user else None
    return refusal_of(PressFacts(asked.standing, presser.is_its_place, role, asked.deciders), ledger.read_time(tx))


def _decide(call: Call, approval_id: UUID, choice: Choice, reason: str | None) -> ApprovalView:
    """Write a decision with all that follows from it; raises `RefusedDecision` where the choice does not count.

    Another org's subject looks like none.
    """
    if reason is not None:
        check_text("reason", reason)
    with call.writing() as tx:
        found = _found(tx, call, approval_id)
        if found.account_id is not None:
            accounts.lock(tx, found.account_id)
        refusal = closed_to(found.standing, ledger.read_time(tx))
        if refusal is not None:
            raise _refused(found, refusal)
        if not subjects.decide(tx, found, choice, by=call.name, reason=reason):
            # Somebody was quicker, or the time has just run out.
            now = _found(tx, call, approval_id)
            raise _refused(now, closed_to(now.standing, ledger.read_time(tx)) or Refusal.EXPIRED)
        call.audit(tx, found.org_id, {**_facts(found), "reason": reason}, project_id=found.project_id)
        enqueue = call.enqueue_for(found.org_id)
        subjects.release(tx, found, choice, enqueue)
        enqueue(tx, ShowOutcomePayload(account_id=found.account_id, approval_id=approval_id))
        return ApprovalView.of(_found(tx, call, approval_id))


def _found(tx: Transaction, call: Call, approval_id: UUID) -> ApprovalSubject:
    return call.found(subjects.find(tx, approval_id), f"action and no wait {approval_id}")


def _evidence(tx: Transaction, found: ApprovalSubject) -> EvidenceView | None:
    of = found.of
    if not isinstance(of, StoredAction) or of.decision_id is None:
        return None
    decision = decisions.get(tx, of.account_id, of.decision_id)
    return None if decision is None else EvidenceView.model_validate(decision)


def _facts(found: ApprovalSubject) -> JsonObject:
    """What the audit log says of a subject."""
    of = found.of
    if isinstance(of, StoredAction):
        return {"action_id": str(of.action_id), "kind": str(of.kind)}
    return {"approval_id": str(of.approval_id), "run_id": str(of.run_id), "workflow": of.workflow, "node": of.node}


def _refused(found: ApprovalSubject, refusal: Refusal) -> RefusedDecision:
    return RefusedDecision(refusal, f"approval_id: {refusal_words(refusal, outcome_of(found.standing))}")
