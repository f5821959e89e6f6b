"""`celery -A tasks users`: the people of an org, who of them may approve, and who they are on Discord."""

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.access.users import UserRole
from engine.runtime import runtime
from storage.access import users as stored
from storage.access.users import UserChanges
from storage.ledger import orgs

LINE = ("email", "role", "discord_user_id", "zone", "created_at")

org_option = click.option("--org", required=True, help="The org's id or name.")
role_option = click.option(
    "--role",
    type=click.Choice([role.value for role in UserRole]),
    help="Owners, admins and approvers may approve actions.",
)
discord_option = click.option("--discord", "discord_user_id", help="Their Discord id; an empty text takes it away.")
zone_option = click.option("--zone", help="Their time zone, such as Europe/Berlin.")


@click.group(cls=FleetGroup)
def users() -> None:
    """Add, list, change and remove the people of an org."""


@users.command("add")
@click.argument("email")
@org_option
@role_option
@discord_option
@zone_option
@operator_option
@json_option
def add_user(  # noqa: PLR0913, PLR0917 - one parameter per option
    email: str,
    org: str,
    role: str | None,
    discord_user_id: str | None,
    zone: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Add a person; without a role, a member, who approves nothing."""
    changes = UserChanges(UserRole(role) if role else None, discord_user_id, zone)
    with runtime().database.ledger() as tx:
        made = stored.add(tx, orgs.find(tx, org), email, changes, by=operator(operator_name))
    show_document("user", made, as_json=as_json)


@users.command("list")
@org_option
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_users(org: str, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the people of an org, by address."""
    with runtime().database.ledger() as tx:
        found = stored.listed(tx, orgs.find(tx, org), limit=limit)
    show_rows(found, LINE, as_json=as_json)


@users.command("set")
@click.argument("email")
@org_option
@role_option
@discord_option
@zone_option
@operator_option
@json_option
def set_user(  # noqa: PLR0913, PLR0917 - one parameter per option
    email: str,
    org: str,
    role: str | None,
    discord_user_id: str | None,
    zone: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Change a person's role, Discord id or zone; what is not given stays."""
    changes = UserChanges(UserRole(role) if role else None, discord_user_id, zone)
    with runtime().database.ledger() as tx:
        changed = stored.change(tx, orgs.find(tx, org), email, changes, by=operator(operator_name))
    show_document("user", changed, as_json=as_json)


@users.command("remove")
@click.argument("email")
@org_option
@operator_option
@json_option
def remove_user(email: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Remove a person; the owner of a mailbox stays."""
    with runtime().database.ledger() as tx:
        removed = stored.remove(tx, orgs.find(tx, org), email, by=operator(operator_name))
    show_document("user", removed, as_json=as_json)
