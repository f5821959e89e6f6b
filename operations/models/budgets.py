"""Budgets: what orgs may spend on the model per day (UTC)."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import Field

from domain.jobs.failures import Invalid
from domain.models.money import MICROCENTS_PER_CENT, PROVIDER
from domain.orgs.access.operators import OperatorRole
from operations.call import Call
from operations.operation import Area, OperatorsOnly, Record
from operations.pages import Page, Window
from storage.models.money import spending
from storage.orgs import orgs

BUDGETS = Area("budgets", "See what orgs may spend on the model per day (UTC), and change it.")
FLEET = OperatorsOnly("an org does not set its own budget")
ADMINS = OperatorsOnly(FLEET.reason, OperatorRole.ADMIN)
LARGEST_CENTS = Decimal(10**12)


class BudgetView(Record):
    """The budget of one org and its day, in microcents."""

    org_id: UUID
    name: str
    daily_microcents: int
    own: bool = Field(description="Whether the figure is the org's own, not the installation's.")
    spent_microcents: int
    reserved_microcents: int
    left_microcents: int
    exhausted_at: datetime | None
    parked_until: datetime | None


@BUDGETS.look("list", FLEET, org="optional")
def list_budgets(call: Call, window: Window) -> Page[BudgetView]:
    """List orgs with today's figures, the highest cost first."""
    asked = {"provider": PROVIDER, "default_daily": call.settings.daily_budget_microcents, "of_org": call.org_id}
    with call.reading() as tx:
        return window.records(tx, "list_budgets", BudgetView, **asked)


@BUDGETS.deed("set", ADMINS, events=("budget.set",))
def set_budget(
    call: Call,
    org: str,
    *,
    cents: Annotated[
        Decimal | None, Field(ge=0, le=LARGEST_CENTS, description="US cents per day, such as 1500 or 0.25.")
    ] = None,
    default: Annotated[bool, Field(description="The installation's budget again.")] = False,
) -> BudgetView:
    """Give an org, by id or name, a budget of its own; parked jobs go on within 15 seconds if it has money again."""
    if (cents is None) != default:
        raise Invalid("cents", "give either an amount or --default")
    daily = None if cents is None else int(cents * MICROCENTS_PER_CENT)
    with call.writing() as tx:
        org_id = orgs.find(tx, org)
        spending.set_daily(tx, org_id, daily, PROVIDER, by=call.name)
        call.audit(tx, org_id, {"daily_microcents": daily})
        default_daily = call.settings.daily_budget_microcents
        now = spending.budget(tx, PROVIDER, default_daily=default_daily, org_id=org_id)
    return BudgetView.model_validate(now)
