"""Actions on messages: read, listed, and moved from status to status by one conditional statement each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, Protocol
from uuid import UUID

from psycopg.types.json import Jsonb

from domain.jobs.failures import Conflict, Forbidden, Gone
from domain.jobs.job import Enqueued, JsonObject
from domain.mail.actions.action import Action
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.actions.requested_action import CLASSES, VERSION, read_action
from domain.mail.actions.status import MAY_BEGIN, ActionStatus
from domain.mail.actions.undo_hint import UndoHint
from domain.mail.triage.safety import CheckedAction
from domain.payloads.actions import ExecuteDecidedPayload, ExecutePayload, OrderedBy, order_of
from domain.payloads.outbound import AttachmentField, SendPayload
from domain.payloads.payload import Payload
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

EXECUTING_TYPES = frozenset(one.declaration.job_type for one in (ExecutePayload, ExecuteDecidedPayload, SendPayload))
"""Whose jobs take an action up."""

Decided = Literal[ActionStatus.APPROVED, ActionStatus.DENIED]
"""Where a person's decision leaves an action."""

ENDED_AT_ONCE = 200
"""Actions of a mailbox that was taken away, which one transaction asks for again."""


class Enqueue(Protocol):
    """Enqueues payloads in the caller's transaction, as `ctx.enqueue` does."""

    def __call__(self, tx: Transaction, *payloads: Payload) -> Sequence[Enqueued]:
        """A job per payload."""
        ...


@dataclass(frozen=True, slots=True)
class StoredAction:
    """One action on a message."""

    action_id: UUID
    org_id: UUID
    account_id: UUID
    message_id: str
    decision_id: UUID | None
    job_id: UUID | None
    """The job that executes it, or did."""
    kind: ActionKind
    parameters: JsonObject
    version: int
    """Of the parameters."""
    danger: Danger
    reasons: tuple[str, ...]
    """Why a person is asked."""
    state: ActionStatus
    undo_hint: JsonObject | None
    error: JsonObject | None
    requested_by: str | None
    approver: str | None
    decided_at: datetime | None
    approval_expires_at: datetime | None
    approval_reason: str | None
    sent_message_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    undo_of: UUID | None
    """The action that this one takes back."""
    undone_by: UUID | None
    """The action that takes this one back, whether it is at it, done or failed."""

    @property
    def action(self) -> Action:
        """The action as its class; raises `Invalid` for parameters that this release cannot read."""
        return read_action(self.kind, self.parameters, self.version)

    @property
    def why_ended(self) -> str | None:
        """Why it was canceled, or what the person who decided said."""
        canceled = self.error or {} if self.state is ActionStatus.CANCELED else {}
        return canceled.get("reason") or self.approval_reason

    @property
    def why(self) -> str:
        """Why it is in its state: its error, or why a person is asked."""
        return (self.error or {}).get("reason") or "; ".join(self.reasons)

    @property
    def inverse(self) -> Inverse:
        """What would take it back; known before it is done."""
        return CLASSES[self.kind].inverse


class ActionPlace(NamedTuple):
    """Where a list stands: the last action that was shown."""

    created_at: datetime
    action_id: UUID


@dataclass(frozen=True, slots=True)
class ActionFilter:
    """Which actions of an org to list; what is None or empty does not narrow the list."""

    account_id: UUID | None = None
    message_id: str | None = None
    states: Sequence[ActionStatus] = ()
    kind: ActionKind | None = None


def find(tx: Transaction, action_id: UUID) -> StoredAction | None:
    """An action that this transaction may see, of whatever account; None when there is none."""
    return tx.first("get_action", _action, action_id=action_id)


def get(tx: Transaction, account_id: UUID, action_id: UUID) -> StoredAction:
    """An action of an account; raises `Gone` when there is none, `Forbidden` when it is another account's."""
    found = find(tx, action_id)
    if found is None:
        raise Gone(f"action_id: there is no action {action_id}")
    if found.account_id != account_id:
        raise Forbidden(f"action_id: action {action_id} is not of account {account_id}", code="action.mismatch")
    return found


def of_message(tx: Transaction, account_id: UUID, message_id: str) -> tuple[StoredAction, ...]:
    """The actions on a message in the order they were asked for."""
    return tuple(_action(row) for row in tx.run("list_actions", account_id=account_id, message_id=message_id))


def listed(
    tx: Transaction,
    org_id: UUID,
    wanted: ActionFilter = ActionFilter(),
    *,
    after: ActionPlace | None = None,
    limit: int,
) -> tuple[StoredAction, ...]:
    """An org's actions, the newest first, after a place."""
    rows = tx.run(
        "list_org_actions",
        org_id=org_id,
        account_id=wanted.account_id,
        message_id=wanted.message_id,
        states=[str(state) for state in wanted.states] or None,
        kind=None if wanted.kind is None else str(wanted.kind),
        last_created_at=after.created_at if after else None,
        last_id=after.action_id if after else None,
        limit=limit,
    )
    return tuple(_action(row) for row in rows)


def request(
    tx: Transaction,
    account_id: UUID,
    message_id: str,
    checked: CheckedAction,
    *,
    requested_by: str,
    files: Sequence[AttachmentField] = (),
) -> UUID:
    """Keep an action that somebody asked for, with the files that it names; `Gone` when the message is not stored."""
    row = tx.one(
        "request_action",
        f"message_id: message {message_id} is not stored, or was deleted",
        account_id=account_id,
        message_id=message_id,
        kind=str(checked.action.kind),
        parameters=Jsonb(checked.action.parameters),
        version=VERSION,
        danger=str(checked.danger),
        reasons=list(checked.reasons),
        state=str(checked.status),
        requested_by=requested_by[:200],
        files=Jsonb([one.model_dump(mode="json") for one in files]) if files else None,
    )
    return UUID(str(row.action_id))


def files(tx: Transaction, account_id: UUID, action_id: UUID) -> tuple[AttachmentField, ...]:
    """The files of an action with their content, in the order in which it names them."""
    rows = tx.run("get_action_files", account_id=account_id, action_id=action_id)
    stored = rows[0].files if rows and rows[0].files else []
    return tuple(AttachmentField.model_validate(one) for one in stored)


def release(
    tx: Transaction, account_id: UUID, action_ids: Sequence[UUID], enqueue: Enqueue, *, by: OrderedBy
) -> tuple[UUID, ...]:
    """Have actions that go ahead executed: a job each, by which the end of the job finds its action."""
    made = enqueue(tx, *(order_of(account_id, one, by) for one in action_ids))
    jobs = tuple(one.job_id for one in made)
    assign_jobs(tx, dict(zip(action_ids, jobs, strict=True)))
    return jobs


def assign_jobs(tx: Transaction, jobs: Mapping[UUID, UUID]) -> None:
    """Say by action which job executes it; an action that does not wait for a job stays as it is."""
    tx.run("assign_action_jobs", action_ids=list(jobs), job_ids=list(jobs.values()))


def begin(tx: Transaction, action_id: UUID, job_id: UUID) -> bool:
    """Take an action up, or go on with what the same job has begun; false when it is not this job's to execute."""
    may_begin = sorted(str(state) for state in MAY_BEGIN)
    return bool(tx.run("begin_action", action_id=action_id, job_id=job_id, may_begin=may_begin))


def keep_hint(tx: Transaction, action_id: UUID, job_id: UUID, hint: UndoHint) -> None:
    """Keep what is known of the undo before the action is executed; raises `Conflict` when another job has it."""
    _change_held(tx, action_id, job_id, undo_hint=Jsonb(hint.document()))


def finish(
    tx: Transaction, action_id: UUID, job_id: UUID, hint: UndoHint | None = None, *, sent_message_id: str | None = None
) -> None:
    """Write that the job's action is done, and how it is taken back: as was kept before, unless a hint is given.

    Raises `Conflict` when another job has it.
    """
    given = {"action_id": action_id, "job_id": job_id, "sent_message_id": sent_message_id}
    if not tx.run("finish_action", undo_hint=None if hint is None else Jsonb(hint.document()), **given):
        raise Conflict(f"action {action_id} is not this job's any more", code="action.taken")


def hand_over(tx: Transaction, action_id: UUID, job_id: UUID, *, to_job: UUID) -> None:
    """Let another job go on with the job's action and end it; raises `Conflict` when a third one has it."""
    _change_held(tx, action_id, job_id, to_job=to_job)


def _change_held(
    tx: Transaction, action_id: UUID, job_id: UUID, *, undo_hint: Jsonb | None = None, to_job: UUID | None = None
) -> None:
    changes = {"undo_hint": undo_hint, "to_job": to_job}
    if not tx.run("change_held_action", action_id=action_id, job_id=job_id, **changes):
        raise Conflict(f"action {action_id} is not this job's any more", code="action.taken")


def decide(
    tx: Transaction,
    action_id: UUID,
    to: Decided,
    *,
    approver: str,
    reason: str | None = None,
) -> bool:
    """Write a person's decision; false when the action does not wait for one, or no longer."""
    given = {"approver": approver[:200], "reason": reason[:1000] if reason else None}
    return bool(tx.run("decide_action", action_id=action_id, to=str(to), **given))


def cancel_waiting(tx: Transaction, account_id: UUID) -> tuple[UUID, ...]:
    """Cancel what waits in a mailbox that is taken away, for a person or its job; returns what a person was asked."""
    rows = tx.run("cancel_waiting_actions", account_id=account_id)
    return tuple(row.action_id for row in rows if row.was_asked)


def order_ended(tx: Transaction, account_id: UUID, moved: Collection[str]) -> dict[UUID, ActionStatus] | None:
    """Ask again for some of what a disconnection has ended, but on messages that were `moved` meanwhile.

    Returns how each begins that was recorded; None when all was looked at. Each is looked at once.
    """
    rows = tx.run("order_ended_actions", account_id=account_id, moved=list(moved), limit=ENDED_AT_ONCE)
    return {row.action_id: ActionStatus(row.state) for row in rows if row.is_wanted} if rows else None


def _action(row: Row) -> StoredAction:
    words = {
        "kind": ActionKind(row.kind),
        "danger": Danger(row.danger),
        "reasons": tuple(row.reasons),
        "state": ActionStatus(row.state),
    }
    return StoredAction(**(row._asdict() | words))


def check_retry(tx: Transaction, job_type: str, payload: JsonObject) -> None:
    """Raise `Conflict` for a job whose action no job may take up any more: done again, it could only fail."""
    if job_type not in EXECUTING_TYPES or not payload.get("action_id"):
        return
    rows = tx.raw("select state from actions where id = %(action_id)s::uuid", {"action_id": payload["action_id"]})
    if rows and ActionStatus(rows[0].state) not in MAY_BEGIN | {ActionStatus.EXECUTING}:
        raise Conflict(f"its action is {rows[0].state}; order the action anew")
