"""`celery -A tasks agents`: what the agents of an org are told and allowed, and what their runs came to."""

from uuid import UUID

import click

from commands.answers import FleetGroup, json_object, json_option, operator, operator_option, show_document, show_rows
from commands.mail.places import Target
from domain.agents.profile import parse_profile
from domain.jobs.failures import Gone
from engine.runtime import runtime
from operations.accounts import account_of
from storage.agents import profiles, runs
from storage.ledger import orgs
from storage.postgres.database import Transaction

LINE = ("org_id", "account_id", "name", "version", "enabled", "disabled_reason", "created_at", "created_by")
RUNS = (
    "run_id", "profile", "profile_version", "status", "stopped_by", "reason", "turns", "cost_microcents",
    "pending_actions", "started_at",
)  # fmt: skip
TURNS = ("turn", "stop_reason", "said", "calls", "cost_microcents")
name_argument = click.argument("name")
org_option = click.option("--org", required=True, help="The org's id or name.")
account_option = click.option(
    "--account", help="A mailbox, by its id or address: a profile of its own, which goes before the org's."
)


@click.group(cls=FleetGroup)
def agents() -> None:
    """Add, list, show, disable and enable the profiles of agents, and look at their runs."""


@agents.command("add")
@name_argument
@org_option
@account_option
@click.option(
    "--profile", "definition", required=True, help="A JSON object: prompt, model, tools, …; - reads standard input."
)
@operator_option
@json_option
def add_profile(
    name: str,
    org: str,
    account: str | None,
    definition: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Save a profile; one that exists gets a new version, which runs begin with from now on."""
    profile = parse_profile(json_object(definition, "profile") | {"name": name})
    with runtime().database.ledger() as tx:
        place = _owner(tx, org, account)
        made = profiles.add(tx, place.org_id, profile, account_id=place.account_id, by=operator(operator_name))
    show_document("profile", made, as_json=as_json)


@agents.command("list")
@click.option("--org", help="Only this org: its id or name.")
@json_option
def list_profiles(org: str | None, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List the newest version of each profile."""
    with runtime().database.ledger() as tx:
        found = profiles.listed(tx, orgs.find_named(tx, org))
    show_rows(found, LINE, as_json=as_json)


@agents.command("show")
@name_argument
@org_option
@json_option
def show_profile(name: str, org: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show all versions of a profile, the newest first, with what they say."""
    with runtime().database.ledger() as tx:
        found = profiles.listed(tx, orgs.find(tx, org), name=name)
    if not found:
        raise Gone(f"there is no profile {name}")
    show_rows(found, (*LINE, "definition"), as_json=as_json)


@agents.command("disable")
@name_argument
@org_option
@account_option
@click.option("--reason", default="disabled by an operator", show_default=True, help="Why, for its owner.")
@operator_option
@json_option
def disable_profile(
    name: str,
    org: str,
    account: str | None,
    reason: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Let no run begin with a profile; its messages are classified instead."""
    with runtime().database.ledger() as tx:
        place, by = _owner(tx, org, account), operator(operator_name)
        switched = profiles.switch(
            tx, place.org_id, name, account_id=place.account_id, enabled=False, reason=reason, by=by
        )
    show_document("profile", switched, as_json=as_json)


@agents.command("enable")
@name_argument
@org_option
@account_option
@operator_option
@json_option
def enable_profile(
    name: str,
    org: str,
    account: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Let runs begin with a profile again."""
    with runtime().database.ledger() as tx:
        place, by = _owner(tx, org, account), operator(operator_name)
        switched = profiles.switch(tx, place.org_id, name, account_id=place.account_id, enabled=True, by=by)
    show_document("profile", switched, as_json=as_json)


@agents.command("runs")
@click.option("--org", help="Only this org: its id or name.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many at most.")
@json_option
def list_runs(org: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List runs, the latest first."""
    with runtime().database.ledger() as tx:
        found = runs.listed(tx, org_id=orgs.find_named(tx, org), limit=limit)
    show_rows(found, RUNS, as_json=as_json)


@agents.command("turns")
@click.argument("run_id", type=click.UUID)
@json_option
def list_turns(run_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show what was said in each turn of a run, without the mail that its tools read."""
    with runtime().database.ledger() as tx:
        found = runs.turns_of(tx, run_id)
    show_rows(found, TURNS, as_json=as_json)


def _owner(tx: Transaction, org: str, account: str | None) -> Target:
    """The org, or the mailbox that a profile is for; raises `Gone` where the mailbox is not the org's."""
    org_id = orgs.find(tx, org)
    return Target(org_id, account_of(tx, account, org_id) if account else None)
