"""What people are asked about: an action on a message, or a node of a workflow's run that waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from pydantic import AwareDatetime

from domain.approvals.decision import ApprovalStanding, ApprovalState, Choice, action_state
from domain.approvals.question import AskedAction, AskedNode, Question, node_question, question_of
from domain.jobs.failures import Gone
from domain.mail.actions.status import ActionStatus
from domain.orgs.access.users import MAY_DECIDE, UserRole
from domain.payloads.actions import OrderedBy
from domain.workflows.joins import NodeState
from storage.mail import messages
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.actions.actions import ActionFilter, ActionPlace, Decided, Enqueue, StoredAction
from storage.postgres.database import Transaction
from storage.workflows import waits
from storage.workflows.waits import ApprovalPosition, AskingNode

OF_NODES: Mapping[NodeState, ApprovalState] = {
    NodeState.WAITING: ApprovalState.WAITING,
    NodeState.SUCCEEDED: ApprovalState.APPROVED,
    NodeState.FAILED: ApprovalState.EXPIRED,
    NodeState.CANCELED: ApprovalState.CANCELED,
}
"""Of a node that asks; one that failed because of a person's decision is denied."""


@dataclass(frozen=True, slots=True)
class ApprovalSubject:
    """What a decision is about, as the approvals see it."""

    of: StoredAction | AskingNode

    @property
    def approval_id(self) -> UUID:
        """The action's id, or that of the node's wait."""
        return self.of.action_id if isinstance(self.of, StoredAction) else self.of.approval_id

    @property
    def org_id(self) -> UUID:
        """Whose people decide."""
        return self.of.org_id

    @property
    def account_id(self) -> UUID | None:
        """The mailbox of an action."""
        return self.of.account_id if isinstance(self.of, StoredAction) else None

    @property
    def run_id(self) -> UUID | None:
        """The run of a node."""
        return None if isinstance(self.of, StoredAction) else self.of.run_id

    @property
    def project_id(self) -> UUID | None:
        """The project of a run."""
        return None if isinstance(self.of, StoredAction) else self.of.project_id

    @property
    def title(self) -> str:
        """What is asked, in some words."""
        return str(self.of.kind).replace("_", " ") if isinstance(self.of, StoredAction) else self.of.question

    @property
    def why(self) -> str:
        """Why a person is asked."""
        if isinstance(self.of, StoredAction):
            return "; ".join(self.of.reasons)
        return f"node {self.of.node} of workflow {self.of.workflow}"

    @property
    def whole(self) -> object:
        """The JSON value that the person is to judge, as a question shows it in parts."""
        return self.of.parameters if isinstance(self.of, StoredAction) else self.of.show

    @property
    def asked_at(self) -> datetime:
        """Since when it waits."""
        return self.of.created_at if isinstance(self.of, StoredAction) else self.of.started_at

    @property
    def deciders(self) -> frozenset[UserRole]:
        """Whose choice counts."""
        roles = None if isinstance(self.of, StoredAction) else self.of.roles
        return MAY_DECIDE.intersection(roles) if roles else MAY_DECIDE

    @property
    def standing(self) -> ApprovalStanding:
        """How a choice about it is judged."""
        of = self.of
        if isinstance(of, StoredAction):
            state = action_state(of.state, is_decided=of.approver is not None)
            return ApprovalStanding(state, of.approval_expires_at, of.approver, of.why_ended)
        is_denied = of.state is NodeState.FAILED and of.decided_by is not None
        state = ApprovalState.DENIED if is_denied else OF_NODES[of.state]
        return ApprovalStanding(state, of.wait_until, of.decided_by, of.decision_reason)

    @property
    def waits(self) -> bool:
        """Whether nobody has decided yet; its time may be over all the same."""
        return self.standing.state is ApprovalState.WAITING


class SubjectPosition(NamedTuple):
    """Where a list stands: the last subject that was shown."""

    asked_at: AwareDatetime
    approval_id: UUID


def find(tx: Transaction, approval_id: UUID) -> ApprovalSubject | None:
    """The subject that this transaction may see; None when there is none."""
    found = actions.find(tx, approval_id) or waits.approval(tx, approval_id)
    return ApprovalSubject(found) if found else None


def get(tx: Transaction, approval_id: UUID) -> ApprovalSubject:
    """The same; raises `Gone` when there is none."""
    found = find(tx, approval_id)
    if found is None:
        raise Gone(f"approval_id: there is no action and no wait {approval_id}")
    return found


def waiting(
    tx: Transaction, org_id: UUID, *, account_id: UUID | None = None, after: SubjectPosition | None = None, limit: int
) -> Sequence[ApprovalSubject]:
    """What waits for a decision in an org, the newest first, after a position; of a mailbox, actions only."""
    wanted = ActionFilter(account_id, states=[ActionStatus.APPROVED_PENDING])
    found = actions.listed(tx, org_id, wanted, after=after and ActionPlace(*after), limit=limit)
    nodes = waits.waiting_approvals(tx, org_id, after=after and ApprovalPosition(*after), limit=limit)
    lists = [[ApprovalSubject(one) for one in each] for each in (found, nodes if account_id is None else ())]
    return list(islice(merge(*lists, key=position_of, reverse=True), limit))


def position_of(subject: ApprovalSubject) -> SubjectPosition:
    """Where it stands in the list."""
    return SubjectPosition(subject.asked_at, subject.approval_id)


def still_waits(tx: Transaction, subject: ApprovalSubject) -> bool:
    """Whether it waits. It is held until `tx` ends, so a decision comes before this look or after `tx`."""
    is_action = isinstance(subject.of, StoredAction)
    rows = tx.run("hold_action_state" if is_action else "hold_node_state", approval_id=subject.approval_id)
    return bool(rows) and rows[0].state == (ActionStatus.APPROVED_PENDING if is_action else NodeState.WAITING)


def decide(tx: Transaction, subject: ApprovalSubject, choice: Choice, *, by: str, reason: str | None) -> bool:
    """Write a person's decision by one conditional update; false when it waits no more."""
    if isinstance(subject.of, AskingNode):
        return waits.decide(tx, subject.approval_id, approve=choice is Choice.APPROVE, by=by, reason=reason)
    to: Decided = ActionStatus.APPROVED if choice is Choice.APPROVE else ActionStatus.DENIED
    return actions.decide(tx, subject.approval_id, to, approver=by, reason=reason)


def release(tx: Transaction, subject: ApprovalSubject, choice: Choice, enqueue: Enqueue) -> None:
    """Have an action executed that was approved. A run goes on by the decision itself."""
    if isinstance(subject.of, StoredAction) and choice is Choice.APPROVE:
        actions.release(tx, subject.of.account_id, [subject.approval_id], enqueue, by=OrderedBy.PERSON)


def question_about(tx: Transaction, subject: ApprovalSubject, number: int) -> Question:
    """The question in words; of a message that was deleted meanwhile, it says so."""
    if isinstance(subject.of, AskingNode):
        return _node_question(subject.of, number)
    return _action_question(tx, subject.of, number)


def _node_question(found: AskingNode, number: int) -> Question:
    asked = AskedNode(
        approval_id=found.approval_id,
        workflow=found.workflow,
        node=found.node,
        run_id=found.run_id,
        question=found.question,
        shown=found.show,
        expires_at=found.wait_until,
    )
    return node_question(asked, number=number)


def _action_question(tx: Transaction, stored: StoredAction, number: int) -> Question:
    account = accounts.get(tx, stored.account_id)
    sender, subject = "", "the message was deleted"
    try:
        parsed = messages.get(tx, stored.account_id, stored.message_id).parsed
        sender, subject = parsed.from_.key if parsed.from_ else "", parsed.subject or ""
    except Gone:
        pass
    asked = AskedAction(
        action_id=stored.action_id,
        kind=stored.kind,
        parameters=stored.parameters,
        reasons=stored.reasons,
        expires_at=stored.approval_expires_at or stored.created_at,
        mailbox=account.email,
        sender=sender,
        subject=subject,
    )
    return question_of(asked, number=number)
