"""`/v1/actions`: list, look at, ask for and undo actions on messages of the key's org."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response, status

from domain.jobs.failures import Conflict, Gone, Invalid
from domain.jobs.job import ActorType
from domain.mail.actions.action_files import FIELD as FILES
from domain.mail.actions.action_files import named, read_files
from domain.mail.actions.kinds import ActionKind
from domain.mail.actions.requested_action import RequestedAction, parse_action, with_files
from domain.mail.actions.snooze import Snooze
from domain.mail.actions.status import ActionStatus
from domain.mail.actions.undo_hint import check_undoable
from domain.mail.triage.safety import SafetyEnforcer
from domain.payloads.actions import UndoPayload
from domain.payloads.mail_fields import GmailId
from domain.payloads.outbound import AttachmentField
from domain.redaction import redact
from gateway.api.action_models import ActionPage, ActionRequest, UndoRequested
from gateway.api.cursors import Place, read_cursor, write_cursor
from gateway.api.reasons import read_body
from gateway.api.repeated_requests import Keyed, replays, say_replayed
from gateway.http.bodies import JsonBody
from gateway.http.callers import Reader, Writer
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from operations.actions import ActionView
from operations.pages import MOST_SHOWN, SHOWN_BY_DEFAULT
from storage import approvals
from storage.accounts import accounts
from storage.actions import actions
from storage.actions.actions import ActionFilter, ActionPlace, StoredAction
from storage.ledger import ledger
from storage.postgres.database import Transaction
from storage.rules import safety

router = APIRouter(prefix="/v1", tags=["actions"])

MAY_CARRY_SECRETS = ("parameters", "undo_hint", "error", "approval_reason")


@router.get("/actions", responses=problems(401, 403, 422, 429, 503), operation_id="list_actions")
def list_actions(  # noqa: PLR0913, PLR0917 - one parameter per filter
    request: Request,
    caller: Reader,
    state: Annotated[
        list[ActionStatus] | None, Query(max_length=len(ActionStatus), description="Only these states.")
    ] = None,
    kind: Annotated[ActionKind | None, Query(description="Only this kind.")] = None,
    account_id: Annotated[UUID | None, Query(description="Only this account.")] = None,
    message_id: Annotated[GmailId | None, Query(description="Only this message.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = SHOWN_BY_DEFAULT,
    cursor: Annotated[str | None, Query(max_length=200, description="`next_cursor` of the part before.")] = None,
) -> ActionPage:
    """List the org's actions, the newest first."""
    wanted = ActionFilter(account_id, message_id, state or (), kind)
    after = read_cursor(cursor) if cursor else None
    place = ActionPlace(after.created_at, after.job_id) if after else None
    with resources_of(request).database.tenant(caller.org_id) as tx:
        found = actions.listed(tx, caller.org_id, wanted, after=place, limit=limit + 1)
    views = [shown(one) for one in found[:limit]]
    last = views[-1] if len(found) > limit else None
    return ActionPage(actions=views, next_cursor=write_cursor(Place(last.created_at, last.action_id)) if last else None)


@router.get("/actions/{action_id}", responses=problems(401, 403, 404, 422, 429, 503), operation_id="read_action")
def read_action(request: Request, caller: Reader, action_id: UUID) -> ActionView:
    """Look at one action."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        return shown(_found(tx, action_id))


@router.post(
    "/actions",
    status_code=status.HTTP_201_CREATED,
    responses={**replays(ActionView), **problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503)},
    operation_id="request_action",
)
def request_action(
    request: Request, response: Response, caller: Writer, document: JsonBody, keyed: Keyed
) -> ActionView:
    """Ask for an action on a message. What is dangerous waits for a person's approval, as `approved_pending`.

    409 for a mailbox that is disconnected.
    """
    asked = read_body(ActionRequest, document)
    action, files = _understood(asked.action)
    resources = resources_of(request)
    origin = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    enqueue = partial(resources.enqueue, org_id=caller.org_id, origin=origin)
    with resources.database.tenant(caller.org_id) as tx:
        earlier = keyed.earlier(tx, caller.org_id)
        if earlier is not None:
            say_replayed(response)
            return _located(response, shown(_found(tx, earlier.made[0])))
        if accounts.lock(tx, asked.account_id) == "disconnected":
            raise Conflict("account_id: the account is disconnected, and nothing may wait for it")
        checked = SafetyEnforcer(safety.of_account(tx, asked.account_id)).check_request(action)
        _check_time(action, ledger.read_time(tx))
        by = f"{origin.actor_type}:{origin.actor_id}"
        made = actions.request(tx, asked.account_id, asked.message_id, checked, requested_by=by, files=files)
        keyed.keep(tx, caller.org_id, [made])
        if checked.status is ActionStatus.QUEUED:
            actions.release(tx, asked.account_id, [made], enqueue)
        else:
            lasts = timedelta(seconds=resources.settings.approval_expires_after_s)
            approvals.request(tx, asked.account_id, [made], enqueue, lasts=lasts)
        return _located(response, shown(_found(tx, made)))


@router.post(
    "/actions/{action_id}/undo",
    status_code=status.HTTP_202_ACCEPTED,
    responses={**replays(UndoRequested), **problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503)},
    operation_id="undo_action",
)
def undo_action(request: Request, response: Response, caller: Writer, action_id: UUID, keyed: Keyed) -> UndoRequested:
    """Take an action back, by a job. 409 when it cannot be taken back, or has been."""
    resources = resources_of(request)
    origin = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    with resources.database.tenant(caller.org_id) as tx:
        found = _found(tx, action_id)
        earlier = keyed.earlier(tx, caller.org_id)
        if earlier is not None:
            say_replayed(response)
            return UndoRequested(action_id=action_id, job_id=earlier.made[0], created=False)
        check_undoable(found.kind, found.state, found.undo_hint)
        payload = UndoPayload(account_id=found.account_id, original_action_id=action_id)
        (made,) = resources.enqueue(tx, payload, org_id=caller.org_id, origin=origin)
        keyed.keep(tx, caller.org_id, [made.job_id])
    return UndoRequested(action_id=action_id, job_id=made.job_id, created=made.created)


def _located(response: Response, view: ActionView) -> ActionView:
    response.headers["Location"] = f"/v1/actions/{view.action_id}"
    return view


def _understood(document: Mapping[str, Any]) -> tuple[RequestedAction, tuple[AttachmentField, ...]]:
    """The action of a request, and the files that go with it; raises `Invalid` with the field as the request has it."""
    try:
        files = read_files(document.get(FILES, []))
        action = parse_action({name: value for name, value in document.items() if name != FILES})
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


def _inside(refusal: Invalid) -> Invalid:
    # Parameters that do not go together are no field of the request's: they stand beside `kind`.
    field = "action" if refusal.field == "parameters" else f"action.{refusal.field}"
    return Invalid(field, refusal.reason.partition(": ")[2])


def _found(tx: Transaction, action_id: UUID) -> StoredAction:
    found = actions.find(tx, action_id)
    if found is None:
        raise Gone(f"there is no action {action_id}")
    return found


def shown(found: StoredAction) -> ActionView:
    """An action as the entry point shows it; what looks like a secret is taken out."""
    columns: dict[str, Any] = {name: getattr(found, name) for name in ActionView.model_fields}
    return ActionView(**(columns | {name: redact(columns[name]) for name in MAY_CARRY_SECRETS}))
