"""`celery -A tasks secrets`: secrets of an org, such as a key of a service that it brings along."""

import sys

import click
from pydantic import SecretStr

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.failures import Invalid
from engine.runtime import runtime
from storage.orgs import orgs
from storage.orgs.secrets import org_secrets
from storage.orgs.secrets.sealing import SecretPlace

LINE = ("org_id", "name", "key_id", "created_at", "updated_at")
org_option = click.option("--org", required=True, help="The org's id or name.")


@click.group(cls=FleetGroup)
def secrets() -> None:
    """Keep, list and remove secrets of an org. No command shows what a secret is."""


@secrets.command("set")
@click.argument("name")
@org_option
@operator_option
@json_option
def set_secret(name: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Keep a secret, read from standard input without its last line break; an earlier one of that name is gone."""
    value = _typed()
    with runtime().database.ledger() as tx:
        place = SecretPlace(orgs.find(tx, org), name)
        kept = org_secrets.keep(tx, runtime().sealer, place, value, by=operator(operator_name))
    show_rows([kept], LINE, as_json=as_json)


@secrets.command("list")
@click.option("--org", help="Only this org: its id or name.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_secrets(org: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List which secrets there are."""
    with runtime().database.ledger() as tx:
        found = org_secrets.listed(tx, org_id=orgs.find_named(tx, org), limit=limit)
    show_rows(found, LINE, as_json=as_json)


@secrets.command("remove")
@click.argument("name")
@org_option
@operator_option
@json_option
def remove_secret(name: str, org: str, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Remove a secret; jobs that need it fail from then on."""
    with runtime().database.ledger() as tx:
        removed = org_secrets.remove(tx, SecretPlace(orgs.find(tx, org), name), by=operator(operator_name))
    show_rows([removed], LINE, as_json=as_json)


@secrets.command("reseal")
@json_option
def reseal_secrets(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Seal all secrets with the first sealing key, after it was changed; harmless to repeat."""
    resealed, batch = 0, None
    while batch != 0:
        with runtime().database.ledger() as tx:
            batch = org_secrets.reseal_some(tx, runtime().sealer)
        resealed += batch
    show_document("secrets", {"resealed": resealed}, as_json=as_json)


def _typed() -> SecretStr:
    """The value; from a terminal it is not shown while it is typed."""
    if sys.stdin.isatty():
        return SecretStr(click.prompt("value", hide_input=True))
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError:
        raise Invalid("value", "is no UTF-8 text") from None
    return SecretStr(text.removesuffix("\n").removesuffix("\r"))
