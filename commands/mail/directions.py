"""`celery -A tasks directions`: standing orders to the model."""

from uuid import UUID

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from commands.mail.places import account_option, org_option, target_of
from domain.mail.rule_language.direction import read_direction
from engine.runtime import runtime
from storage.audit import deeds
from storage.rules import directions as kept
from storage.rules.rules import Reach

LINE = ("direction_id", "account_id", "scope", "scope_ref", "content")


@click.group(cls=FleetGroup)
def directions() -> None:
    """Tell the model what to keep in mind: for all mail, for a domain's, or for one sender's."""


@directions.command("add")
@click.argument("text")
@account_option
@org_option
@click.option("--domain", help="Only for mail from this domain.")
@click.option("--sender", help="Only for mail from this address.")
@operator_option
@json_option
def add_direction(  # noqa: PLR0913, PLR0917 - one parameter per option
    text: str,
    account: str | None,
    org: str | None,
    domain: str | None,
    sender: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Add a direction, such as 'Mail about the boiler is urgent'."""
    with runtime().database.ledger() as tx:
        place = target_of(tx, account, org)
        told = read_direction({"content": text, "domain": domain, "sender": sender}, of_account=account is not None)
        reach = Reach(told.scope, place.account_id, told.ref)
        made = kept.add(tx, place.org_id, reach, told.content)
        facts = {"direction_id": str(made), "scope": str(told.scope)}
        deeds.record(tx, "direction.added", facts, by=operator(operator_name), org_id=place.org_id)
    show_document("direction", facts | {"content": told.content}, as_json=as_json)


@directions.command("list")
@account_option
@org_option
@json_option
def list_directions(account: str | None, org: str | None, as_json: bool) -> None:  # noqa: FBT001 - a flag
    """List the directions of an org, or those that apply to a mailbox, widest scope first."""
    with runtime().database.ledger() as tx:
        place = target_of(tx, account, org)
        found = kept.listed(tx, place.org_id, account_id=place.account_id)
    show_rows(found, LINE, as_json=as_json)


@directions.command("remove")
@click.argument("direction_id", type=click.UUID)
@account_option
@org_option
@operator_option
@json_option
def remove_direction(
    direction_id: UUID,
    account: str | None,
    org: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Remove a direction."""
    with runtime().database.ledger() as tx:
        place = target_of(tx, account, org)
        kept.remove(tx, place.org_id, direction_id)
        facts = {"direction_id": str(direction_id)}
        deeds.record(tx, "direction.removed", facts, by=operator(operator_name), org_id=place.org_id)
    show_document("direction", facts | {"removed": True}, as_json=as_json)
