"""The people of an org, who of them may approve, and who they are on Discord."""

from datetime import datetime
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.orgs.access.users import UserRole
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Record
from operations.pages import Page, Window
from storage.orgs.access import users
from storage.orgs.access.users import UserChanges

USERS = Area("users", "Add, list, change and remove the people of an org.")
FLEET = OperatorsOnly("a user may approve what the services of an org ask for")
Role = Annotated[UserRole | None, Field(description="Owners, admins and approvers may approve actions.")]
DiscordId = Annotated[str | None, Field(description="Their Discord id; an empty text takes it away.")]
Zone = Annotated[str | None, Field(description="Their time zone, such as Europe/Berlin.")]


class UserView(Record):
    """A person in an org."""

    columns: ClassVar = ("email", "role", "discord_user_id", "zone", "created_at")
    user_id: UUID
    org_id: UUID
    email: str
    role: UserRole
    discord_user_id: str | None
    zone: str
    created_at: datetime
    erasing_since: datetime | None = Field(description="Set while the person is being erased.")


@USERS.look("list", FLEET, org="required")
def list_users(call: Call, window: Window) -> Page[UserView]:
    """List the people of an org, by address."""
    with call.reading() as tx:
        return window.records(tx, "list_users", UserView, org_id=call.org, **users.ALL)


@USERS.deed("add", FLEET, org="required", events=("user.added",))
def add_user(
    call: Call, email: str, *, role: Role = None, discord_user_id: DiscordId = None, zone: Zone = None
) -> UserView:
    """Add a person; without a role, a member, who approves nothing."""
    with call.writing() as tx:
        changes = UserChanges(role, discord_user_id, zone)
        made = users.add(tx, call.org, email, changes)
        call.audit(tx, call.org, {"user_id": str(made.user_id), **changes.given()})
    return UserView.model_validate(made)


@USERS.deed("set", FLEET, org="required", events=("user.changed",))
def set_user(
    call: Call, email: str, *, role: Role = None, discord_user_id: DiscordId = None, zone: Zone = None
) -> UserView:
    """Change a person's role, Discord id or zone; what is not given stays."""
    changes = UserChanges(role, discord_user_id, zone)
    if not changes.given():
        raise Invalid("role", "nothing to change is given: a role, a Discord id or a zone")
    with call.writing() as tx:
        changed = users.change(tx, call.org, email, changes)
        call.audit(tx, call.org, {"user_id": str(changed.user_id), **changes.given()})
    return UserView.model_validate(changed)


@USERS.deed("remove", FLEET, org="required", events=("user.removed",))
def remove_user(call: Call, email: str) -> UserView:
    """Remove a person; the owner of a mailbox stays."""
    with call.writing() as tx:
        removed = users.remove(tx, call.org, email)
        call.audit(tx, call.org, {"user_id": str(removed.user_id)})
    return UserView.model_validate(removed)
