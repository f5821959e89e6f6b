"""`celery -A tasks keys`: API keys, with which services hand over jobs over HTTP."""

import json
import os
from uuid import UUID

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.contract import parse_time
from domain.orgs.access.api_keys import NOISE, Role, make_key
from engine.runtime import runtime
from storage.orgs import orgs
from storage.orgs.access import api_keys
from storage.orgs.access.api_keys import KeyOptions

LINE = ("key_id", "org_id", "name", "role", "prefix", "created_at", "expires_at", "revoked_at", "last_used_at")


@click.group(cls=FleetGroup)
def keys() -> None:
    """Make, list and revoke API keys: one is for one org and one role."""


@keys.command("create")
@click.option("--org", required=True, help="The org's id or name.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What the key may do.")
@click.option("--name", required=True, help="What the key is for.")
@click.option("--expires-at", help="Good until this RFC 3339 time; without it, until it is revoked.")
@operator_option
@json_option
def create_key(
    org: str,
    role: str,
    name: str,
    expires_at: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Make a key. It is shown this once; the database keeps a digest only."""
    options = KeyOptions(name, Role(role), parse_time(expires_at, "expires_at") if expires_at else None)
    key = make_key(os.urandom(NOISE))
    with runtime().database.ledger() as tx:
        made = api_keys.create(tx, orgs.find(tx, org), key, options, by=operator(operator_name))
    if as_json:
        click.echo(json.dumps({"key_id": str(made.key_id), "org_id": str(made.org_id), "key": key.text}, indent=2))
        return
    show_document("key", made, as_json=False)
    # Not through the tables, which hide what looks like a secret: this is the one place where it is to be seen.
    click.echo(f"\n{key.text}\n\nKeep it now: it is not shown again.")


@keys.command("list")
@click.option("--org", help="Only this org: its id or name.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_keys(org: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List keys, the newest first. `last_used_at` is a few minutes late at the most."""
    with runtime().database.ledger() as tx:
        found = api_keys.listed(tx, org_id=orgs.find_named(tx, org), limit=limit)
    show_rows(found, LINE, as_json=as_json)


@keys.command("revoke")
@click.argument("key_id", type=click.UUID)
@operator_option
@json_option
def revoke_key(key_id: UUID, operator_name: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Let nobody in with a key any more, from its next request on."""
    with runtime().database.ledger() as tx:
        revoked = api_keys.revoke(tx, key_id, by=operator(operator_name))
    show_document("key", revoked, as_json=as_json)
