"""Directions: standing orders to the model."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.mail.rule_language.direction import read_direction
from domain.mail.triage.prompts import RuleScope
from domain.orgs.access.api_keys import Role
from operations.call import Call
from operations.mail.accounts import target_of, target_to_write
from operations.operation import Area, Record, Route
from operations.pages import Page
from storage.mail.rules import directions
from storage.mail.rules.rules import Reach

DIRECTIONS = Area("directions", "Tell the model what to keep in mind: for all mail, a domain's, or one sender's.")


class AddedDirection(Record):
    """A direction that was saved."""

    direction_id: UUID
    scope: RuleScope
    scope_ref: str | None = Field(description="The domain or address that a narrow scope names.")
    content: str


class DirectionView(AddedDirection):
    """A standing order to the model."""

    plural: ClassVar = "directions"
    columns: ClassVar = ("direction_id", "account_id", "scope", "scope_ref", "content")

    account_id: UUID | None = Field(description="The mailbox it is for; null for all of the org's.")
    enabled: bool
    created_at: datetime


class RemovedDirection(Record):
    """A direction that was removed."""

    direction_id: UUID
    removed: bool = True


@DIRECTIONS.look("list", Route("GET", "/directions"), org="optional")
def list_directions(
    call: Call,
    *,
    account_id: Annotated[UUID | None, Field(description="Only directions that apply to this mailbox.")] = None,
) -> Page[DirectionView]:
    """List the directions of an org, or those that apply to a mailbox, widest scope first."""
    with call.reading() as tx:
        found = directions.listed(tx, target_of(tx, account_id, call.org_id).org_id, account_id=account_id)
    return Page([DirectionView.model_validate(one) for one in found], None)


@DIRECTIONS.deed(
    "add",
    Route("POST", "/directions", query=("account_id",)),
    role=Role.WRITER,
    org="optional",
    events=("direction.added",),
    keyed=True,
)
def add_direction(
    call: Call,
    content: Annotated[str, Field(min_length=1, max_length=2000, description="What the model is to keep in mind.")],
    *,
    account_id: Annotated[UUID | None, Field(description="The mailbox; without it, all of the org's.")] = None,
    domain: Annotated[str | None, Field(description="Only for mail from this domain.")] = None,
    sender: Annotated[str | None, Field(description="Only for mail from this address.")] = None,
) -> AddedDirection:
    """Save a direction, such as 'Mail about the boiler is urgent', for all mail, a domain's, or one sender's."""
    given = {"content": content, "domain": domain, "sender": sender}
    written = read_direction(given, of_account=account_id is not None)
    with call.writing() as tx:

        def make() -> list[UUID]:
            org_id = target_to_write(tx, account_id, call.org_id).org_id
            made = directions.add(tx, org_id, Reach(written.scope, account_id, written.ref), written.content)
            call.audit(tx, org_id, {"direction_id": str(made), "scope": str(written.scope)})
            return [made]

        (direction_id,) = call.once(tx, make)
    return AddedDirection(
        direction_id=direction_id, scope=written.scope, scope_ref=written.ref, content=written.content
    )


@DIRECTIONS.deed(
    "remove", Route("DELETE", "/directions/{direction_id}"), role=Role.WRITER, events=("direction.removed",)
)
def remove_direction(call: Call, direction_id: UUID) -> RemovedDirection:
    """Remove a direction."""
    with call.writing() as tx:
        org_id = directions.remove(tx, call.org_id, direction_id)
        call.audit(tx, org_id, {"direction_id": str(direction_id)})
    return RemovedDirection(direction_id=direction_id)
