"""`celery -A tasks budgets`: see what orgs spend on the model, and give one more, or less."""

from decimal import Decimal, InvalidOperation

import click

from commands.answers import FleetGroup, json_option, operator, operator_option, show_document, show_rows
from domain.jobs.failures import Invalid
from domain.scheduling.money import MICROCENTS_PER_CENT
from engine.runtime import runtime
from providers.anthropic.models import PROVIDER
from storage.audit import deeds
from storage.ledger import orgs
from storage.money import spending

LARGEST_CENTS = Decimal(10**12)
COLUMNS = (
    "org_id",
    "name",
    "daily_microcents",
    "own",
    "spent_microcents",
    "reserved_microcents",
    "left_microcents",
    "exhausted_at",
    "parked_until",
)


@click.group(cls=FleetGroup)
def budgets() -> None:
    """See what orgs may spend on the model per day (UTC), and change it."""


@budgets.command("list")
@click.option("--org", help="Only this org, by id or name.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="At most so many orgs.")
@json_option
def list_budgets(org: str | None, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List orgs with today's figures, who has spent most first."""
    default_daily = runtime().settings.daily_budget_microcents
    with runtime().database.ledger() as tx:
        org_id = orgs.find_named(tx, org)
        found = spending.budgets(tx, PROVIDER, default_daily=default_daily, org_id=org_id, limit=limit)
    show_rows(found, COLUMNS, as_json=as_json)


@budgets.command("set")
@click.argument("org")
@click.option("--cents", help="US cents per day, such as 1500 or 0.25.")
@click.option("--default", "by_default", is_flag=True, help="The installation's budget again.")
@operator_option
@json_option
def set_budget(
    org: str,
    cents: str | None,
    by_default: bool,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Give an org, by id or name, a budget of its own; parked jobs go on within 15 seconds if it has money again."""
    if (cents is None) != by_default:
        raise Invalid("cents", "give either an amount or --default")
    daily = None if cents is None else _microcents(cents)
    by = operator(operator_name)
    default_daily = runtime().settings.daily_budget_microcents
    with runtime().database.ledger() as tx:
        org_id = orgs.find(tx, org)
        spending.set_daily(tx, org_id, daily, PROVIDER, by=by.actor_id)
        deeds.record(tx, "budget.set", {"daily_microcents": daily}, by=by, org_id=org_id)
        (now,) = spending.budgets(tx, PROVIDER, default_daily=default_daily, org_id=org_id)
    show_document("budget", now, as_json=as_json)


def _microcents(cents: str) -> int:
    try:
        amount = Decimal(cents)
    except InvalidOperation:
        raise Invalid("cents", f"{cents} is no amount of money") from None
    if not (amount.is_finite() and 0 <= amount <= LARGEST_CENTS):
        raise Invalid("cents", f"must be from 0 to {LARGEST_CENTS}")
    return int(amount * MICROCENTS_PER_CENT)
