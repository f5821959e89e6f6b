"""`/v1/approvals`: the actions of the key's org that wait for a person, and the decision about one."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from domain.approvals.decision import Choice
from domain.jobs.failures import Gone
from domain.jobs.job import ActorType
from domain.mail.actions.status import ActionStatus
from gateway.api.action_models import ActionPage, ActionView
from gateway.api.actions import shown
from gateway.api.cursors import read_cursor, write_cursor
from gateway.api.jobs import MOST_SHOWN, SHOWN_BY_DEFAULT
from gateway.api.reasons import Reason, read_body
from gateway.approving import enqueue
from gateway.http.bodies import JsonBody
from gateway.http.callers import Operator, Reader
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from storage.access.api_keys import Caller
from storage.actions import actions
from storage.actions.actions import ActionFilter, ActionPlace
from storage.approvals import approvals
from storage.approvals.approvals import Decider
from storage.operators.org_jobs import Place

router = APIRouter(prefix="/v1", tags=["approvals"])


@router.get("/approvals", responses=problems(401, 403, 422, 429, 503), operation_id="list_approvals")
def list_approvals(
    request: Request,
    caller: Reader,
    account_id: Annotated[UUID | None, Query(description="Only this account.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = SHOWN_BY_DEFAULT,
    cursor: Annotated[str | None, Query(max_length=200, description="`next_cursor` of the part before.")] = None,
) -> ActionPage:
    """List the org's actions that wait for a person's approval, the newest first."""
    wanted = ActionFilter(account_id, states=[ActionStatus.APPROVED_PENDING])
    after = read_cursor(cursor) if cursor else None
    place = ActionPlace(after.created_at, after.job_id) if after else None
    with resources_of(request).database.tenant(caller.org_id) as tx:
        found = actions.listed(tx, caller.org_id, wanted, after=place, limit=limit + 1)
    views = [shown(one) for one in found[:limit]]
    last = views[-1] if len(found) > limit else None
    return ActionPage(actions=views, next_cursor=write_cursor(Place(last.created_at, last.action_id)) if last else None)


@router.post(
    "/approvals/{action_id}/approve",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="approve_action",
)
def approve_action(request: Request, caller: Operator, action_id: UUID, document: JsonBody) -> ActionView:
    """Let an action go ahead, by a job. 409 when it waits no more."""
    return _decide(request, caller, action_id, Choice.APPROVE, document)


@router.post(
    "/approvals/{action_id}/deny",
    responses=problems(401, 403, 404, 408, 409, 413, 415, 422, 429, 503),
    operation_id="deny_action",
)
def deny_action(request: Request, caller: Operator, action_id: UUID, document: JsonBody) -> ActionView:
    """Refuse an action; it is never executed. 409 when it waits no more."""
    return _decide(request, caller, action_id, Choice.DENY, document)


def _decide(request: Request, caller: Caller, action_id: UUID, choice: Choice, document: object) -> ActionView:
    """Decide in the ledger's transaction, for the audit log; another org's action looks like none."""
    reason = read_body(Reason, document).reason
    resources = resources_of(request)
    origin = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    with resources.database.ledger() as tx:
        found = actions.find(tx, action_id)
        if found is None or found.org_id != caller.org_id:
            raise Gone(f"there is no action {action_id}")
        decider = Decider(f"{origin.actor_type}:{origin.actor_id}", origin, reason)
        return shown(approvals.decide(tx, found, choice, decider, partial(enqueue, resources, found.org_id, origin)))
