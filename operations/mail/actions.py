"""Actions on messages: see what was done to mail and what waits for approval, ask for more, and take it back."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.jobs.job import Enqueued, JsonObject
from domain.mail.actions.action_files import FIELD as FILES
from domain.mail.actions.action_files import AskedFile, named, read_files
from domain.mail.actions.kinds import ActionKind, Danger, Inverse
from domain.mail.actions.requested_action import AutoReply, RequestedAction, parse_action, with_files
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import check_undoable
from domain.mail.outgoing.send_orders import answered
from domain.mail.triage.safety import SafetyEnforcer
from domain.orgs.access.api_keys import Role
from domain.payloads.actions import OrderedBy, UndoPayload
from domain.payloads.mail_fields import GmailId
from domain.payloads.outbound import AttachmentField
from operations.call import Call
from operations.mail.accounts import target_to_write
from operations.operation import Area, Record, Route
from operations.pages import Page, Window
from operations.planning.exchange.attached_files import attached_files
from storage.approvals import approvals
from storage.jobs import ledger
from storage.mail import messages
from storage.mail.accounts.accounts import Account
from storage.mail.actions import actions
from storage.mail.actions.actions import ActionFilter, ActionPlace, StoredAction
from storage.mail.messages import Message
from storage.mail.rules import safety
from storage.postgres.database import Transaction

ACTIONS = Area("actions", "See what was done to mail and what waits for approval, ask for more, and take it back.")
DETAILS = (
    '`kind`, and beside it the parameters of that kind: `{"kind": "snooze", "amount": 2, "units": "hours"}`. A forward'
    " and an answer take files as `attachments`, each with `filename`, `content_type` and `data` (base64),"
    " or with the `artifact_id` of a file that was stored before. See"
    " docs/explanation/actions.md."
)


class ActionView(Record):
    """One action; what looks like a secret is taken out."""

    values: ClassVar = ("parameters", "undo_hint")
    plural: ClassVar = "actions"
    columns: ClassVar = (
        "action_id", "kind", "state", "danger", "inverse", "message_id", "created_at", "approval_expires_at", "why",
    )  # fmt: skip

    action_id: UUID
    org_id: UUID
    account_id: UUID
    message_id: str
    kind: ActionKind
    parameters: JsonObject
    version: int = Field(description="Of the parameters.")
    danger: Danger
    inverse: Inverse = Field(description="What would take it back; `none` for what cannot be undone.")
    state: ActionStatus
    reasons: list[str] = Field(description="Why a person is asked.")
    why: str = Field(description="Why it is in its state: its error, or why a person is asked.")
    requested_by: str | None = Field(description="Null for an action that a decision led to.")
    decision_id: UUID | None
    job_id: UUID | None = Field(description="The job that executes it, or did.")
    undo_of: UUID | None = Field(description="The action that this one takes back.")
    undone_by: UUID | None = Field(description="The action that takes this one back, or tries to.")
    undo_hint: JsonObject | None
    error: JsonObject | None
    approver: str | None
    decided_at: datetime | None
    approval_expires_at: datetime | None
    approval_reason: str | None
    sent_message_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RequestedUndo(Record):
    """The job that takes an action back."""

    action_id: UUID
    job_id: UUID
    created: bool = Field(description="False when an undo of the action was under way already; it is that job.")


@ACTIONS.look("list", Route("GET", "/actions"), org="required")
def list_actions(
    call: Call,
    window: Window,
    *,
    state: Annotated[
        list[ActionStatus] | None, Field(max_length=len(ActionStatus), description="Only these states.")
    ] = None,
    kind: Annotated[ActionKind | None, Field(description="Only this kind.")] = None,
    account_id: Annotated[UUID | None, Field(description="Only this account.")] = None,
    message_id: Annotated[GmailId | None, Field(description="Only this message, by Gmail's id.")] = None,
) -> Page[ActionView]:
    """List the org's actions, the newest first. `inverse` is `none` for what cannot be undone."""
    wanted = ActionFilter(account_id, message_id, state or (), kind)
    with call.reading() as tx:
        found = actions.listed(tx, call.org, wanted, after=window.after(ActionPlace), limit=window.rows)
    return window.page(found, ActionView.model_validate, lambda one: ActionPlace(one.created_at, one.action_id))


@ACTIONS.look("show", Route("GET", "/actions/{action_id}"))
def read_action(call: Call, action_id: UUID) -> ActionView:
    """Show one action: what was asked, how it ended, and how it is taken back."""
    with call.reading() as tx:
        return ActionView.model_validate(found_action(tx, call, action_id))


@ACTIONS.deed(
    "request",
    Route("POST", "/actions", location="/v1/actions/{action_id}"),
    role=Role.WRITER,
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def request_action(
    call: Call,
    *,
    account_id: Annotated[UUID, Field(description="The message's mailbox.")],
    message_id: Annotated[GmailId, Field(description="Gmail's id of a message that is stored.")],
    action: Annotated[dict[str, Any], Field(description=DETAILS)],
) -> ActionView:
    """Ask for an action on a message. What is dangerous waits for a person's approval, as `approved_pending`.

    Refused for a mailbox that is disconnected.
    """
    asked, asked_files = _understood(action)
    with call.writing() as tx:

        def make() -> Sequence[UUID]:
            target = target_to_write(tx, account_id, call.org_id)
            enqueue = call.enqueue_for(target.org_id)
            requested, files = _with_files(tx, target.org_id, asked, asked_files)
            checked = SafetyEnforcer(safety.of_account(tx, account_id).answer).check_request(requested)
            _check_time(requested, ledger.read_time(tx))
            if isinstance(requested, AutoReply) and target.account is not None:
                _check_answerable(messages.get(tx, account_id, message_id), target.account)
            by = f"{call.origin.actor_type}:{call.origin.actor_id}"
            made = actions.request(tx, account_id, message_id, checked, requested_by=by, files=files)
            if checked.status is ActionStatus.QUEUED:
                actions.release(tx, account_id, [made], enqueue, by=OrderedBy.PERSON)
            else:
                lasts = timedelta(seconds=call.settings.approval_expires_after_s)
                approvals.request(tx, account_id, [made], enqueue, lasts=lasts)
            return [made]

        (made,) = call.once(tx, make)
        return ActionView.model_validate(found_action(tx, call, made))


@ACTIONS.deed(
    "undo",
    Route("POST", "/actions/{action_id}/undo", status=202),
    role=Role.WRITER,
    events=("job.enqueued",),
    ledger_audits=True,
    keyed=True,
)
def undo_action(call: Call, action_id: UUID) -> RequestedUndo:
    """Take an action back, by a job. Refused when it cannot be, or has been, and when its mailbox is disconnected."""
    made: list[Enqueued] = []
    with call.writing() as tx:
        found = found_action(tx, call, action_id)

        def make() -> Sequence[UUID]:
            check_undoable(found.kind, found.state, found.undo_hint)
            target_to_write(tx, found.account_id, found.org_id)
            payload = UndoPayload(account_id=found.account_id, original_action_id=action_id)
            made.extend(call.enqueue_for(found.org_id)(tx, payload))
            return [one.job_id for one in made]

        (job_id,) = call.once(tx, make)
    return RequestedUndo(action_id=action_id, job_id=job_id, created=any(one.created for one in made))


def found_action(tx: Transaction, call: Call, action_id: UUID) -> StoredAction:
    """The action that a caller names; raises `Gone` where there is none, and alike where it is another org's."""
    return call.found(actions.find(tx, action_id), f"action {action_id}")


def _understood(document: Mapping[str, Any]) -> tuple[RequestedAction, tuple[AskedFile, ...]]:
    """The action of a request, and the files that go with it; raises `Invalid` with the field as the request has it."""
    try:
        files = read_files(document.get(FILES, []))
        action = parse_action({name: value for name, value in document.items() if name != FILES})
        with_files(action, [named(one) for one in files if isinstance(one, AttachmentField)])
    except Invalid as refusal:
        raise _inside(refusal) from None
    return action, files


def _with_files(
    tx: Transaction, org_id: UUID, action: RequestedAction, asked: Sequence[AskedFile]
) -> tuple[RequestedAction, tuple[AttachmentField, ...]]:
    """The action with its files, those in artifacts by their facts; raises as `_understood`."""
    try:
        files = attached_files(tx, org_id, asked, FILES)
        return with_files(action, [named(one) for one in files]), files
    except Invalid as refusal:
        raise _inside(refusal) from None


def _check_time(action: RequestedAction, now: datetime) -> None:
    """Raise `Invalid` for a snooze that would never wake, or not within a year."""
    if not isinstance(action, Snooze):
        return
    try:
        action.wakes_at(now)
    except Invalid as refusal:
        raise _inside(refusal) from None


def _check_answerable(message: Message, account: Account) -> None:
    """Raise `Invalid` for an answer that would be approved and then have nobody to go to."""
    try:
        answered(message.parsed, account.addresses)
    except Invalid as refusal:
        raise Invalid("message_id", refusal.reason.partition(": ")[2]) from None


def _inside(refusal: Invalid) -> Invalid:
    # Parameters that do not go together are no field of the request's: they stand beside `kind`.
    field = "action" if refusal.field == "parameters" else f"action.{refusal.field}"
    return Invalid(field, refusal.reason.partition(": ")[2])
