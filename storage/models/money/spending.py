"""What orgs spend on the model: money set aside before a call, charged after it, and a gate for who has none left."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from uuid import UUID

from domain.jobs.failures import ClaimLost
from domain.jobs.gate_causes import Cause
from domain.jobs.job import ClaimedJob, JsonObject
from domain.models.money import DailyBudget
from storage.jobs import gates, ledger
from storage.jobs.gates import Gate
from storage.postgres.database import Transaction
from storage.postgres.execution import Row

UNDER_WAY = timedelta(seconds=5)
"""How long an org's jobs wait when calls under way may yet cost less than was set aside for them."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """What came of the wish to make a call: money set aside, or a reason why none is needed, or neither.

    `kept` is the step's result from an earlier attempt, `cancel_reason` why the job is to stop. Without any of the
    three the org's day has not that much left.
    """

    reservation_id: UUID | None
    kept: JsonObject | None
    cancel_reason: str | None


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """No call for this org now. `parked` is for the rest of the day; `first` when it has not been audited today."""

    day: str
    budget: DailyBudget
    until: datetime
    parked: bool
    first: bool


def reserve(
    tx: Transaction, job: ClaimedJob, microcents: int, *, default_daily: int, step: str | None = None
) -> Reserved:
    """Set money aside for one call of a held job, unless the step has a result already. Raises `ClaimLost`."""
    rows = tx.run(
        "reserve_budget",
        job_id=job.job_id,
        token=job.token,
        microcents=microcents,
        default_daily=default_daily,
        step=step,
    )
    if not rows:
        raise ClaimLost("the claim was lost before money was set aside")
    return Reserved(**rows[0]._asdict())


def charge_lost(tx: Transaction, *, org_id: UUID | None = None, batch: int = 1000) -> int:
    """Charge what was set aside for calls whose claim is gone, of one org or of all; returns how many."""
    charged: int = tx.run("charge_lost_reservations", org_id=org_id, batch=batch)[0].charged
    return charged


def refuse(
    tx: Transaction, job: ClaimedJob, microcents: int, provider: str, *, default_daily: int
) -> BudgetRefusal | None:
    """Close the gate of an org that cannot pay for a call; None when it can after all, for the budget was raised.

    It is closed until the day's end in UTC when the money is gone, for seconds when calls under way still hold it. In
    a transaction of the ledger: the claim and the org's day stay locked until its end. Raises `ClaimLost`: whose claim
    was taken away has nothing to say about the org.
    """
    ledger.hold_claim(tx, job.job_id, job.token)
    charge_lost(tx, org_id=job.org_id)
    day = tx.run("hold_budget_day", org_id=job.org_id)[0]
    budget = DailyBudget(_daily(tx, job.org_id, default_daily), day.spent_microcents, day.reserved_microcents)
    if budget.grants(microcents):
        return None
    parked = budget.gone(microcents)
    until = day.ends_at if parked else day.now + UNDER_WAY
    reason = "the org's budget of the day is spent" if parked else "calls under way hold the rest of the org's budget"
    gates.close(tx, Gate("org_provider", gate_key(job.org_id, provider), reason, until, "postroom", Cause.BUDGET))
    first = parked and day.exhausted_at is None
    if first:
        tx.raw(
            "update budget_days set exhausted_at = now() where org_id = %(org)s and day = %(day)s",
            {"org": job.org_id, "day": day.day},
        )
    return BudgetRefusal(day.day.isoformat(), budget, until, parked, first)


def exhausted_on(tx: Transaction, day: date) -> bool:
    """Whether the tenant's own org ran out of money on that day."""
    query = "select 1 from budget_days where day = %(day)s and exhausted_at is not null"
    return bool(tx.raw(query, {"day": day}))


def set_daily(tx: Transaction, org_id: UUID, daily_microcents: int | None, provider: str, *, by: str) -> None:
    """Give an org a budget of its own, or the installation's again with None; its parked jobs go on."""
    tx.run("hold_budget_day", org_id=org_id)
    if daily_microcents is None:
        tx.raw("delete from org_budgets where org_id = %(org)s", {"org": org_id})
    else:
        tx.raw(
            "insert into org_budgets (org_id, daily_microcents, set_by) values (%(org)s, %(daily)s, %(by)s)"
            " on conflict (org_id) do update"
            " set daily_microcents = excluded.daily_microcents, set_by = excluded.set_by, set_at = now()",
            {"org": org_id, "daily": daily_microcents, "by": by},
        )
    # Whoever finds the money gone again closes it again.
    gates.open_gate(tx, "org_provider", gate_key(org_id, provider), Cause.BUDGET)


def budget(tx: Transaction, provider: str, *, default_daily: int, org_id: UUID) -> Row:
    """The budget of an org and its day, in microcents."""
    only = {"of_org": org_id, "after_spent_microcents": None, "after_org_id": None, "limit": 1}
    (row,) = tx.run("list_budgets", provider=provider, default_daily=default_daily, **only)
    return row


def gate_key(org_id: UUID, provider: str) -> str:
    """The key of a gate of scope `org_provider`."""
    return f"{org_id}:{provider}"


def _daily(tx: Transaction, org_id: UUID, default_daily: int) -> int:
    rows = tx.raw("select daily_microcents from org_budgets where org_id = %(org)s", {"org": org_id})
    return int(rows[0].daily_microcents) if rows else default_daily
