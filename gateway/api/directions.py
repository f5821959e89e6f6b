"""`/v1/directions`: standing orders to the model, of the key's org."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response, status
from pydantic import BaseModel, ConfigDict, Field

from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType
from domain.mail.rule_language.direction import read_direction
from gateway.api.documents import takes
from gateway.api.repeated_requests import Keyed, replays, say_replayed
from gateway.api.rule_models import AddedDirection, DirectionList, DirectionView, Removed
from gateway.http.bodies import JsonBody
from gateway.http.callers import Reader, Writer
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from storage.accounts import accounts
from storage.audit import deeds
from storage.rules import directions
from storage.rules.rules import Reach

router = APIRouter(prefix="/v1", tags=["directions"])


class DirectionDocument(BaseModel):
    """A standing order to the model."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(min_length=1, max_length=2000, description="What the model is to keep in mind.")
    domain: str | None = Field(None, description="Only for mail from this domain.")
    sender: str | None = Field(None, description="Only for mail from this address.")


@router.get("/directions", responses=problems(401, 403, 404, 422, 429, 503), operation_id="list_directions")
def list_directions(
    request: Request,
    caller: Reader,
    account_id: Annotated[UUID | None, Query(description="Only directions that apply to this mailbox.")] = None,
) -> DirectionList:
    """List the org's directions, widest scope first."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        if account_id is not None:
            accounts.get(tx, account_id)
        found = directions.listed(tx, caller.org_id, account_id=account_id)
    return DirectionList(directions=[DirectionView.model_validate(one, from_attributes=True) for one in found])


@router.post(
    "/directions",
    status_code=status.HTTP_201_CREATED,
    responses={**replays(AddedDirection), **problems(401, 403, 404, 408, 413, 415, 422, 429, 503)},
    operation_id="add_direction",
    openapi_extra=takes("DirectionDocument"),
)
def add_direction(
    request: Request,
    response: Response,
    caller: Writer,
    document: JsonBody,
    keyed: Keyed,
    account_id: Annotated[UUID | None, Query(description="The mailbox; without it, all of the org's.")] = None,
) -> AddedDirection:
    """Save a direction, for all mail, for a domain's, or for one sender's."""
    if not isinstance(document, dict):
        raise Invalid("document", "is no JSON object")
    told = read_direction(document, of_account=account_id is not None)
    database = resources_of(request).database
    with database.tenant(caller.org_id) as tx:
        if account_id is not None:
            accounts.get(tx, account_id)
    by = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    with database.ledger() as tx:
        earlier = keyed.earlier(tx, caller.org_id)
        if earlier is not None:
            say_replayed(response)
            made = earlier.made[0]
        else:
            made = directions.add(tx, caller.org_id, Reach(told.scope, account_id, told.ref), told.content)
            facts = {"direction_id": str(made), "scope": str(told.scope)}
            deeds.record(tx, "direction.added", facts, by=by, org_id=caller.org_id)
            keyed.keep(tx, caller.org_id, [made])
    return AddedDirection(direction_id=made, scope=told.scope.value, scope_ref=told.ref)


@router.delete(
    "/directions/{direction_id}", responses=problems(401, 403, 404, 422, 429, 503), operation_id="remove_direction"
)
def remove_direction(request: Request, caller: Writer, direction_id: UUID) -> Removed:
    """Remove a direction."""
    by = origin_of(request, str(caller.key_id), ActorType.API_KEY)
    with resources_of(request).database.ledger() as tx:
        directions.remove(tx, caller.org_id, direction_id)
        facts = {"direction_id": str(direction_id)}
        deeds.record(tx, "direction.removed", facts, by=by, org_id=caller.org_id)
    return Removed(removed=True)
